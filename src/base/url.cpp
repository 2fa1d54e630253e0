#include "base/url.hpp"

#include "base/host_port.hpp"
#include "base/percent.hpp"
#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::base {
namespace {

[[noreturn]] void bad(const std::string& shown, const std::string& what) {
    throw error(errc::bad_url, "store address " + quoted(shown) + ": " + what +
                                   "; expected SCHEME:NAME or SCHEME://[user:password@]host[:port][/path][?key=value]");
}

bool scheme_letter(char c, bool first) {
    const bool letter = c >= 'a' && c <= 'z';
    return first ? letter : letter || (c >= '0' && c <= '9') || c == '+' || c == '-';
}

std::string unescape(std::string_view text, const std::string& shown) {
    auto plain = percent_decoded(text, hex_digits::any_case);
    if (!plain) bad(shown, "a % must be followed by two hex digits (write %25 for a plain %)");
    return *std::move(plain);
}

// An option is secret if its name suggests it, or cannot be read.
bool secret_option(std::string_view key) {
    std::string plain(key);
    for (char& c : plain) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const char* word : {"pass", "pwd", "secret", "token", "auth", "%"})
        if (plain.find(word) != std::string::npos) return true;
    return false;
}

std::string mask_options(std::string_view text) {
    std::string shown;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('&', start + 1), text.size());
        const std::string_view option = text.substr(start, end - start);
        const std::string_view key = option.substr(0, option.find('='));
        const bool misplaced = option.find('@') != std::string_view::npos;  // a login, after a '?' that was not escaped
        shown += misplaced            ? std::string(1, option.front()) + "***"
                 : secret_option(key) ? std::string(key) + "=***"
                                      : std::string(option);
        start = end;
    }
    return shown;
}

// A number that was meant as a port, even if it is out of range. A longer one may be a secret.
bool looks_like_port(std::string_view text) {
    return !text.empty() && text.size() <= 6 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Masks what stands after a host's colon and is not a port: it may be a password whose '@' was forgotten.
std::string mask_hosts(std::string_view hosts) {
    std::string shown;
    while (true) {
        const std::size_t end = std::min(hosts.find(','), hosts.size());
        const std::string_view one = hosts.substr(0, end);
        const std::size_t colon = one.find(':');
        const bool plain = colon == one.npos || one.front() == '[' || looks_like_port(one.substr(colon + 1));
        shown += plain ? std::string(one) : std::string(one.substr(0, colon + 1)) + "***";
        if (end == hosts.size()) return shown;
        shown += ',';
        hosts.remove_prefix(end + 1);
    }
}

// Masks all between the colon after the user and the last '@', also in an address that cannot be parsed because of a
// raw '/' or '?' or missing slashes or scheme; and the options whose names suggest a secret.
std::string mask(std::string_view text) {
    const std::size_t options = std::min(text.find('?'), text.size());
    const std::size_t at = text.rfind('@');
    const std::size_t slashes = text.find("://");
    const std::size_t first = text.find(':', slashes == text.npos ? 0 : slashes + 3);
    const std::size_t second = slashes == text.npos && first < at ? text.find(':', first + 1) : text.npos;
    const std::size_t colon = second < at ? second : first;
    const bool path = slashes == text.npos && colon == first && first + 1 < text.size() && text[first + 1] == '/';
    std::string shown(text.substr(0, options));
    if (at != text.npos && colon < std::min(at, options) && !path) {
        // With a '?' before the '@', either may be part of a secret, so all that follows is masked.
        if (options < at) return std::string(text.substr(0, colon + 1)) + "***";
        shown.replace(colon + 1, at - colon - 1, "***");
    }
    if (at == text.npos && slashes != text.npos && slashes + 3 <= shown.size()) {
        const std::size_t from = slashes + 3;
        const std::size_t length = std::min(shown.find('/', from), shown.size()) - from;
        shown.replace(from, length, mask_hosts(shown.substr(from, length)));
    }
    return shown + mask_options(text.substr(options));
}

enum class host_fault { none, name, port };

host_fault fault_of(std::string_view host) {
    const auto parts = host_port::split(host);
    if (!parts) return host_fault::name;
    return !parts->port || port_number(*parts->port) ? host_fault::none : host_fault::port;
}

constexpr const char* escapes = " (a / or @ in a password is written %2F or %40)";

// If nothing was masked, `shown` is the whole address. Otherwise the host may be a part of the secret, so it is not
// named.
[[noreturn]] void bad_host(std::string_view host, host_fault fault, std::string_view whole, const std::string& shown) {
    const std::size_t colon = host.rfind(':');
    if (fault == host_fault::name)
        bad(shown, (shown == whole ? "the host " + quoted(host) : "a host") +
                       " is not NAME, NAME:PORT or [ADDRESS]:PORT" + escapes);
    if (const std::string_view port = host.substr(colon + 1); looks_like_port(port))
        bad(shown, "the port " + std::string(port) + " is out of range; use 1 to 65535");
    bad(shown, std::string("the port of a host must be a number from 1 to 65535") + escapes);
}

}  // namespace

url url::parse(std::string_view text) {
    url u;
    u.masked_ = mask(text);
    const std::string& shown = u.masked_;
    if (text.empty()) bad(shown, "it is empty");
    if (text.size() > 4096) throw error(errc::bad_url, "store address: longer than 4096 bytes");
    if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
        bad(shown, "it contains control characters");

    const auto colon = text.find(':');
    if (colon == std::string_view::npos) bad(shown, "there is no scheme before a colon");
    u.scheme = std::string(text.substr(0, colon));
    for (std::size_t i = 0; i < u.scheme.size(); ++i)
        if (!scheme_letter(u.scheme[i], i == 0))
            bad(shown, "the scheme may hold lower-case letters, digits, + and - only");
    if (u.scheme.empty()) bad(shown, "the scheme is empty");

    std::string_view rest = text.substr(colon + 1);
    if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
        std::string_view pairs = rest.substr(mark + 1);
        rest = rest.substr(0, mark);
        while (!pairs.empty()) {
            const auto end = std::min(pairs.find('&'), pairs.size());
            const std::string_view pair = pairs.substr(0, end);
            pairs.remove_prefix(std::min(end + 1, pairs.size()));
            const auto equals = pair.find('=');
            if (equals == std::string_view::npos || equals == 0) bad(shown, "options after ? are written key=value");
            const std::string key = unescape(pair.substr(0, equals), shown);
            if (!u.query.emplace(key, unescape(pair.substr(equals + 1), shown)).second)
                bad(shown, "the option " + quoted(key) + " is given twice");
        }
    }

    if (!rest.starts_with("//")) {
        u.path = unescape(rest, shown);
        return u;
    }
    rest.remove_prefix(2);
    std::string_view authority = rest.substr(0, rest.find('/'));
    u.path = unescape(rest.substr(authority.size()), shown);
    if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
        const std::string_view login = authority.substr(0, at);
        authority.remove_prefix(at + 1);
        const auto split = std::min(login.find(':'), login.size());
        u.user = unescape(login.substr(0, split), shown);
        u.password = unescape(login.substr(std::min(split + 1, login.size())), shown);
    }
    if (authority.empty()) bad(shown, "no host after //");
    while (true) {
        const auto comma = authority.find(',');
        const std::string_view host = authority.substr(0, comma);
        if (const host_fault fault = fault_of(host); fault != host_fault::none) bad_host(host, fault, text, shown);
        u.hosts.emplace_back(host);
        if (comma == std::string_view::npos) return u;
        authority.remove_prefix(comma + 1);
    }
}

}  // namespace mortise::inline v0::base
