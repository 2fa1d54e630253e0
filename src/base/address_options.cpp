#include "base/address_options.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>

#include <sys/stat.h>

namespace mortise::inline v0::base {

void bad_address(const url& address, const std::string& what) {
    throw error(errc::bad_url, "store address " + quoted(address.masked()) + ": " + what);
}

void read_options(const url& address, const address_options& known) {
    for (const auto& [key, value] : address.query) {
        const auto option = known.find(key);
        if (option == known.end()) {
            std::string all;
            for (const auto& [name, ignored] : known) all += (all.empty() ? "" : ", ") + name;
            bad_address(address, "there is no option " + quoted(key) + "; there are " + all);
        }
        option->second(value);
    }
}

std::chrono::milliseconds duration_in(const url& address, const std::string& option, const std::string& text,
                                      std::chrono::milliseconds least, std::chrono::milliseconds most) {
    const std::size_t unit = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool seconds = text.substr(unit) == "s";
    const std::int64_t scale = seconds ? 1000 : 1;
    const auto count = number_in<std::int64_t>(std::string_view{text}.substr(0, unit), 0, most.count() / scale);
    if (!count || (!seconds && text.substr(unit) != "ms") || *count * scale < least.count())
        bad_address(address, option + " must be a duration of " + readable(least) + " to " + readable(most) +
                                 (least <= std::chrono::milliseconds{500} ? ", like 500ms or 2s" : ", like 2s"));
    return std::chrono::milliseconds{*count * scale};
}

void expect_private(const url& address, const std::string& option, const std::string& path) {
    struct ::stat about {};
    if (::stat(path.c_str(), &about) == 0 && (about.st_mode & 077) != 0)
        bad_address(address, option + ": others may read " + quoted(path) + "; chmod 600 it");
}

std::string secret_in(const url& address, const std::string& option, const std::string& path) {
    std::string line;
    std::ifstream file{path};
    if (!file || !std::getline(file, line)) bad_address(address, option + ": cannot read " + quoted(path));
    expect_private(address, option, path);
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

std::string password_in(const url& address, const std::string& path) {
    if (!address.password.empty())
        bad_address(address, "a password stands in the address and in password_file; leave one out");
    return secret_in(address, "password_file", path);
}

}  // namespace mortise::inline v0::base
