#include "settings.hpp"

#include "failure.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

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

// Nothing if there is no such file, or if it is only wanted and may not be read.
std::optional<std::string> content_of(const std::string& path, access how = access::needed) {
    std::error_code ec;
    if (!std::filesystem::exists(path, ec) && !ec) return std::nullopt;
    if (std::filesystem::is_directory(path, ec))
        misconfigured("cannot read " + in_quotes(path) + ": it is a directory");
    errno = 0;
    std::ifstream in{path, std::ios::binary};
    if (!in && errno == EACCES && how == access::wanted) return std::nullopt;
    if (!in) misconfigured("cannot read " + in_quotes(path) + ": " + std::strerror(errno));
    return std::string{std::istreambuf_iterator<char>(in), {}};
}

std::string needed_content_of(const std::string& path, const std::string& whose) {
    auto text = content_of(path);
    if (!text) misconfigured(whose + " names " + in_quotes(path) + ", which does not exist");
    return std::string(trimmed(*text));
}

configuration read_files(const environment& get, access how) {
    if (const char* only = get("MORTISE_CONFIG"); only != nullptr && *only != '\0')
        return read_configuration(only, needed_content_of(only, "MORTISE_CONFIG"));

    configuration all;
    std::vector<std::string> paths{"/etc/mortise.conf"};
    const char* config = get("XDG_CONFIG_HOME");
    const char* home = get("HOME");
    if (config != nullptr && *config == '/') {
        paths.push_back(std::string(config) + "/mortise.conf");
    } else if (home != nullptr && *home == '/') {
        paths.push_back(std::string(home) + "/.config/mortise.conf");
    }
    for (const std::string& path : paths) {
        const auto text = content_of(path, how);
        if (!text) continue;
        configuration stronger = read_configuration(path, *text);
        if (stronger.contains("store")) all.erase("password_file");  // it belongs to the other store
        stronger.merge(all);
        all = std::move(stronger);
    }
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

std::string store_of(const configuration& files) {
    const auto url = files.find("store");
    const auto password = files.find("password_file");
    if (password == files.end()) return url == files.end() ? "host:" : url->second;
    if (url == files.end()) misconfigured("the configuration has a password_file but no store it belongs to");
    if (holds_secret(url->second)) misconfigured("the configuration's store has a password and a password_file too");
    return with_password(url->second, needed_content_of(password->second, "password_file"));
}

}  // namespace

configuration read_configuration(const std::string& path, const std::string& text) {
    constexpr std::array<std::string_view, 3> keys{"store", "password_file", "label"};
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
            misconfigured(where + "the keys are store, password_file and label");
        if (!found.emplace(key, trimmed(line.substr(equals + 1))).second) misconfigured(where + key + " stands twice");
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
    if (url && file) refuse("--store and --store-file exclude each other");
    if (url && holds_secret(*url))
        refuse(
            "--store: a password on the command line can be read by every user of the machine; "
            "put the address into MORTISE_STORE or into a file (--store-file FILE)");
    const char* named = get("MORTISE_STORE");
    const bool told = url || file || (named != nullptr && *named != '\0');
    const configuration files = read_files(get, told ? access::wanted : access::needed);
    if (const auto label = files.find("label"); label != files.end()) made.label = label->second;
    made.store = url    ? *url
                 : file ? needed_content_of(*file, "--store-file")
                 : told ? std::string(named)
                        : store_of(files);
    return made;
}

}  // namespace command
