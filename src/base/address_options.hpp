// What the stores' addresses have in common beyond their form (url.hpp): complaints, and options that only one store knows.
#pragma once

#include "base/text.hpp"
#include "base/url.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>

namespace mortise::inline v0::base {

// Throws errc::bad_url: which address, secrets masked, and what is wrong with it.
[[noreturn]] void bad_address(const url& address, const std::string& what);

// What each option does with its value.
using address_options = std::map<std::string, std::function<void(const std::string&)>, std::less<>>;

// Does it for all options of the address. One that is not known is refused, with a list of those that are.
void read_options(const url& address, const address_options& known);

// The option's value as a time between these: "500ms", "2s".
std::chrono::milliseconds duration_in(const url& address, const std::string& option, const std::string& text,
                                      std::chrono::milliseconds least = std::chrono::milliseconds{1},
                                      std::chrono::milliseconds most = std::chrono::hours{1});

// Refuses the file that the option names if others than its owner may read it.
void expect_private(const url& address, const std::string& option, const std::string& path);

// The first line of such a file.
std::string secret_in(const url& address, const std::string& option, const std::string& path);
// The same of the option password_file, beside which the address must not hold a password.
std::string password_in(const url& address, const std::string& path);

}  // namespace mortise::inline v0::base
