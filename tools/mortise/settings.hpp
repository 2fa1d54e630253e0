// Where the store's address and the other defaults come from: options, then the environment, then files.
#pragma once

#include "arguments.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace command {

struct settings {
    std::string store;         // may hold a password: for client's constructor, never for a message
    std::string store_from{};  // "--store", "MORTISE_STORE", "'/etc/mortise.conf'"; empty: nobody named one
    std::optional<std::chrono::nanoseconds> patience{};  // --patience
    bool tries_once = false;                             // -n: a store that cannot be reached is not asked again
    std::optional<std::string> label{};
    bool json = false;
    bool verbose = false;
};

// What a file says, by key. Lines are `key = value`, `# comment` or empty. Keys: store, password_file, label, require_store
// (yes or no). Throws failure(configuration), naming file and line.
std::map<std::string, std::string, std::less<>> read_configuration(const std::string& path, const std::string& text);

// Whether an address holds a password, or an option that is called like a secret.
bool holds_secret(std::string_view url);

// The address with a password put in behind the user; one that has no user gets an empty one.
std::string with_password(std::string_view url, std::string_view password);

using environment = std::function<const char*(const char*)>;

// In order of strength: --store or --store-file; MORTISE_STORE; the file MORTISE_CONFIG names, or else
// $XDG_CONFIG_HOME/mortise.conf (~/.config) and, below it, /etc/mortise.conf. If none of them names a store it is host:, which
// --require-store and `require_store = yes` forbid.
//
// Throws failure(usage) for a password on the command line, where every user of the machine can read it, and
// failure(configuration) for a variable that is set but empty and for a file it cannot use: a store must not become host:
// because its name got lost. Files that nobody named and that cannot be read are left out where something stronger says
// which store.
settings read_settings(const arguments& given, const environment& get);

}  // namespace command
