#include "settings.hpp"

#include "descriptor.hpp"
#include "failure.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

namespace command {
namespace {

using configuration = std::map<std::string, std::string, std::less<>>;

[[noreturn]] void misconfigured(const std::string& what) {
    throw failure(exit_code::configuration, what);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    const std::size_t first = std::min(text.find_first_not_of(blank), text.size());
    text.remove_prefix(first);
    return text.substr(0, text.find_last_not_of(blank) + 1);
}

enum class access { needed, wanted };

constexpr std::size_t longest_address = 4096;
constexpr std::size_t longest_configuration = 65536;

// Nothing if there is no such file, or if it is only wanted and cannot be opened. Links that lead nowhere are there.
std::optional<std::string> content_of(const std::string& path, std::size_t most, access how = access::needed) {
    std::error_code ec;
    const auto is = std::filesystem::symlink_status(path, ec).type();
    if (is == std::filesystem::file_type::not_found) return std::nullopt;
    // A pipe that nobody writes to is empty, and not waited for.
    const descriptor from{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    const int why = errno;
    if (from) ::fcntl(from.get(), F_SETFL, O_RDONLY);
    if (!from && how == access::wanted && (why == EACCES || why == ENOENT)) return std::nullopt;
    if (!from && why == ENOENT)
        misconfigured("cannot read " + in_quotes(path) + ": it is a link to " +
                      in_quotes(std::filesystem::read_symlink(path, ec).string()) + ", which does not exist");
    if (!from) misconfigured("cannot read " + in_quotes(path) + ": " + std::strerror(why));
    std::string text(most + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(from.get(), text.data() + size, text.size() - size);
        if (got == 0) break;
        if (got < 0 && errno == EISDIR) misconfigured("cannot read " + in_quotes(path) + ": it is a directory");
        if (got < 0 && errno != EINTR) misconfigured("cannot read " + in_quotes(path) + ": " + std::strerror(errno));
        if (got > 0) size += static_cast<std::size_t>(got);
    }
    if (size > most)
        misconfigured(in_quotes(path) + " is longer than " + std::to_string(most / 1024) +
                      " KiB; is it the right file?");
    text.resize(size);
    return text;
}

std::string needed_content_of(const std::string& path, const std::string& whose, std::size_t most = longest_address) {
    auto text = content_of(path, most);
    if (!text) misconfigured(whose + " names " + in_quotes(path) + ", which does not exist");
    return std::string(trimmed(*text));
}

// What stands in a file may be a secret that belongs elsewhere, so it is shown only if it looks like an address.
std::string address_in(const std::string& path) {
    std::string text = needed_content_of(path, "--store-file");
    const std::string what = in_quotes(path) + " (--store-file) ";
    if (text.empty()) misconfigured(what + "is empty; write a store address into it");
    if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
        misconfigured(what + "has more than one line; it must contain only a store address");
    const std::string_view scheme = std::string_view(text).substr(0, text.find(':'));
    const std::string_view rest = std::string_view(text).substr(scheme.size());
    if (!rest.starts_with("://") && scheme != "host" && scheme != "memory")
        misconfigured(what + "has no store address, like redis://127.0.0.1");
    return text;
}

// The files' keys, and which file each is from.
struct configured {
    configuration keys{};
    configuration from{};

    void take(const std::string& path, const std::string& text) {
        configuration stronger = read_configuration(path, text);
        if (stronger.contains("store")) keys.erase("password_file");  // it belongs to the other store
        for (auto& [key, value] : stronger) {
            keys[key] = value;
            from[key] = in_quotes(path);
        }
    }
    bool requires_store() const {
        const auto said = keys.find("require_store");
        return said != keys.end() && said->second == "yes";
    }
};

configured read_files(const environment& get, access how) {
    configured all;
    if (const char* only = get("MORTISE_CONFIG"); only != nullptr) {
        if (*only == '\0') misconfigured("MORTISE_CONFIG is set but empty; set it to a file, or unset it");
        all.take(only, needed_content_of(only, "MORTISE_CONFIG", longest_configuration));
        return all;
    }
    std::vector<std::string> paths{"/etc/mortise.conf"};
    const char* config = get("XDG_CONFIG_HOME");
    const char* home = get("HOME");
    if (config != nullptr && *config == '/') {
        paths.push_back(std::string(config) + "/mortise.conf");
    } else if (home != nullptr && *home == '/') {
        paths.push_back(std::string(home) + "/.config/mortise.conf");
    }
    for (const std::string& path : paths)
        if (const auto text = content_of(path, longest_configuration, how)) all.take(path, *text);
    return all;
}

// What an option is called. One that names a file only says where the secret is.
bool names_secret(std::string_view option) {
    std::string key{option};
    std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) { return std::tolower(c); });
    if (key.ends_with("_file")) return false;
    for (const char* word : {"pass", "pwd", "secret", "token", "auth"})
        if (key.find(word) != key.npos) return true;
    return false;
}

constexpr const char* how_to_name_one = "; set MORTISE_STORE, use --store URL, or write store = URL into mortise.conf";

void take_store_of(const configured& files, bool required, settings& into) {
    const auto url = files.keys.find("store");
    const auto password = files.keys.find("password_file");
    if (url == files.keys.end()) {
        if (password != files.keys.end()) misconfigured("the configuration has a password_file but no store");
        if (required) misconfigured(std::string("--require-store: no store is configured") + how_to_name_one);
        if (files.requires_store())
            misconfigured("no store is configured, and " + files.from.at("require_store") +
                          " says require_store = yes" + how_to_name_one);
        into.store = "host:";
        return;
    }
    into.store = url->second;
    into.store_from = files.from.at("store");
    if (password == files.keys.end()) return;
    if (holds_secret(url->second))
        misconfigured("the configuration has a password in the store's address and a password_file; remove one");
    into.store = with_password(url->second, needed_content_of(password->second, "password_file"));
}

}  // namespace

configuration read_configuration(const std::string& path, const std::string& text) {
    constexpr std::array<std::string_view, 4> keys{"store", "password_file", "label", "require_store"};
    configuration found;
    std::string_view rest = text;
    for (int number = 1; !rest.empty(); ++number) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = trimmed(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty() || line.front() == '#') continue;
        const std::string where = in_quotes(path) + ", line " + std::to_string(number) + ": ";
        const std::size_t equals = line.find('=');
        if (equals == line.npos) misconfigured(where + "expected key = value");  // may be a secret: not shown
        const std::string key{trimmed(line.substr(0, equals))};
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            misconfigured(where + "unknown key; the keys are store, password_file, label and require_store");
        const std::string value{trimmed(line.substr(equals + 1))};
        if (key == "require_store" && value != "yes" && value != "no")
            misconfigured(where + "require_store must be yes or no");
        if (key != "label" && (value.find(" #") != value.npos || value.find("\t#") != value.npos))
            misconfigured(where + "a comment must be on its own line");
        if (value.empty() && key != "label") misconfigured(where + key + " is empty");
        if (!found.emplace(key, value).second) misconfigured(where + key + " is given twice");
    }
    return found;
}

bool holds_secret(std::string_view url) {
    const std::size_t slashes = url.find("://");
    const std::size_t begin = slashes == url.npos ? std::min(url.find(':'), url.size() - 1) + 1 : slashes + 3;
    const std::size_t at = url.rfind('@');
    const bool path = slashes == url.npos && url.substr(begin).starts_with('/');
    if (at != url.npos && url.find(':', begin) < at && !path) return true;
    std::string_view options = url.substr(std::min(url.find('?'), url.size()));
    while (!options.empty()) {
        options.remove_prefix(1);
        const std::string_view one = options.substr(0, options.find('&'));
        if (names_secret(one.substr(0, one.find('=')))) return true;
        options.remove_prefix(one.size());
    }
    return false;
}

std::string with_password(std::string_view url, std::string_view password) {
    std::string escaped;
    for (const char c : password) {
        constexpr std::string_view hex = "0123456789ABCDEF";
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0) {
            escaped += c;
        } else {
            escaped += {'%', hex[byte >> 4], hex[byte & 15]};
        }
    }
    const std::size_t slashes = url.find("://");
    if (slashes == url.npos) misconfigured("password_file: the store has no server to log in to");
    const std::size_t begin = slashes + 3;
    const std::size_t at = url.substr(0, url.find('/', begin)).rfind('@');
    const std::string user{at == url.npos ? std::string_view{} : url.substr(begin, at - begin)};
    return std::string(url.substr(0, begin)) + user + ":" + escaped + "@" +
           std::string(url.substr(at == url.npos ? begin : at + 1));
}

settings read_settings(const arguments& given, const environment& get) {
    settings made;
    made.json = given.has("--json");
    made.verbose = given.has("--verbose");

    const auto url = given.value("--store");
    const auto file = given.value("--store-file");
    if (url && file) refuse("--store and --store-file cannot be combined");
    if (url && holds_secret(*url))
        refuse(
            "--store: every user of this machine can read a password on the command line; "
            "put the address into a file (--store-file FILE) or into MORTISE_STORE");
    made.tries_once = given.has("--nonblock");
    if (const auto patience = given.value("--patience")) made.patience = read_duration("--patience", *patience);

    const char* named = get("MORTISE_STORE");
    const bool told = url || file || (named != nullptr && *named != '\0');
    if (!told && named != nullptr) misconfigured("MORTISE_STORE is set but empty; set it to a store, or unset it");
    const configured files = read_files(get, told ? access::wanted : access::needed);
    if (const auto label = files.keys.find("label"); label != files.keys.end()) made.label = label->second;
    if (url) {
        made.store = *url;
        made.store_from = "--store";
    } else if (file) {
        made.store = address_in(*file);
        made.store_from = "--store-file " + in_quotes(*file);
    } else if (told) {
        made.store = named;
        made.store_from = "MORTISE_STORE";
    } else {
        take_store_of(files, given.has("--require-store"), made);
    }
    return made;
}

}  // namespace command
