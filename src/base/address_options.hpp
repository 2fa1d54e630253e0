// Options in store addresses, and errors about addresses. For the syntax of an address see url.hpp.
#pragma once

#include "base/text.hpp"
#include "base/url.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace mortise::inline v0::base {

// Throws errc::bad_url. The message names the address, with secrets masked, and what is wrong with it.
[[noreturn]] void bad_address(const url& address, const std::string& what);

// The options that a store has, and what each does with its value.
using address_options = std::map<std::string, std::function<void(const std::string&)>, std::less<>>;

// Applies all options of the address. Refuses an unknown option, and lists the known ones.
void read_options(const url& address, const address_options& known);

// Parses a duration within these bounds: "500ms", "2s".
std::chrono::milliseconds duration_in(const url& address, const std::string& option, const std::string& text,
                                      std::chrono::milliseconds least = std::chrono::milliseconds{1},
                                      std::chrono::milliseconds most = std::chrono::hours{1});

// Refuses a file that others than its owner can read.
void expect_private(const url& address, const std::string& option, const std::string& path);

// The first line of such a private file.
std::string secret_in(const url& address, const std::string& option, const std::string& path);
// The same for the option password_file. The address must not contain a password too.
std::string password_in(const url& address, const std::string& path);

}  // namespace mortise::inline v0::base
