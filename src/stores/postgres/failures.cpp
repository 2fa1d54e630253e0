#include "stores/postgres/failures.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace mortise::inline v0::stores::postgres {
namespace {

using kind = sql::outcome::kind;

struct meaning {
    std::string_view state;  // or how it begins
    kind is;
};

// In the order of the manual's appendix A. The first that fits counts.
constexpr std::array meanings{
    meaning{"08", kind::unsure},      // connection exception
    meaning{"22P03", kind::foreign},  // invalid binary representation: a parameter of another type than we made
    meaning{"23505", kind::exists},   // unique violation
    meaning{"25006", kind::read_only}, meaning{"28", kind::denied},       // invalid authorization, wrong password
    meaning{"3F000", kind::no_schema}, meaning{"40001", kind::conflict},  // serialization failure
    meaning{"40P01", kind::conflict},                                     // deadlock
    meaning{"42501", kind::denied},                                       // insufficient privilege
    meaning{"42P01", kind::no_schema},                                    // undefined table
    meaning{"42883", kind::no_schema},                                    // undefined function
    meaning{"42703", kind::foreign},                                      // undefined column
    meaning{"42704", kind::foreign},                                      // undefined object
    meaning{"42804", kind::foreign},                                      // datatype mismatch
    meaning{"42809", kind::foreign},   // wrong object type: a view where a table should be
    meaning{"42846", kind::foreign},   // cannot coerce
    meaning{"23502", kind::foreign},   // a foreign column that must not be null
    meaning{"42P06", kind::exists},    // schema
    meaning{"42P07", kind::exists},    // table
    meaning{"42710", kind::exists},    // object
    meaning{"42723", kind::exists},    // function
    meaning{"53100", kind::full},      // disk
    meaning{"53", kind::exhausted},    // connections, memory
    meaning{"55P03", kind::conflict},  // lock not available, lock_timeout
    meaning{"57014", kind::conflict},  // cancelled
    meaning{"57P", kind::unsure},      // shut down, crashed, idle for too long
    meaning{"58030", kind::full},      // I/O error
};

kind kind_of(std::string_view state) {
    const auto found = std::find_if(meanings.begin(), meanings.end(),
                                    [&](const meaning& one) { return state.starts_with(one.state); });
    return found != meanings.end() ? found->is : kind::refused;
}

// "FATAL:  28P01: password authentication failed": libpq tells the state in no other way.
std::string_view state_in(std::string_view line) {
    for (std::size_t at = line.find(":  "); at != line.npos; at = line.find(":  ", at + 1)) {
        const std::string_view rest = line.substr(at + 3);
        if (rest.size() < 7 || rest.substr(5, 2) != ": ") continue;
        const std::string_view state = rest.substr(0, 5);
        if (std::all_of(state.begin(), state.end(), [](unsigned char c) { return std::isdigit(c) || std::isupper(c); }))
            return state;
    }
    return {};
}

bool says(std::string_view text, std::string_view what) {
    return text.find(what) != text.npos;
}

}  // namespace

std::string first_line(std::string_view text) {
    std::string line(text.substr(0, text.find('\n')));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    return line;
}

sql::outcome failure_of_statement(std::string_view state, std::string_view message) {
    sql::outcome how{.is = kind_of(state), .detail = first_line(message) + " (" + std::string(state) + ")"};
    // Two sessions that change the same entry of the catalogue at once, as CREATE OR REPLACE does.
    if (state == "XX000" && says(message, "concurrently updated")) how.is = kind::conflict;
    return how;
}

sql::outcome failure_to_connect(const std::string& where, std::string_view text) {
    const std::string line = first_line(text);
    sql::outcome how{.is = kind::unsent, .detail = where + ": " + line};
    const std::string_view state = state_in(text);
    if (state.empty()) {
        const bool certificate = says(text, "certificate") || says(text, "does not match host name") ||
                                 says(text, "private key") || says(text, "sslv3 alert") || says(text, "tlsv1 alert");
        const bool no_tls = says(text, "server does not support SSL");
        const bool no_password = says(text, "no password supplied");
        how.hopeless = certificate || no_tls || no_password;
        if (how.hopeless) how.is = kind::denied;
        if (says(text, "invalid response to SSL negotiation") || says(text, "expected authentication request")) {
            how.is = kind::refused;
            how.detail = where + " does not speak as PostgreSQL does; is the port right? (" + line + ")";
            return how;
        }
        if (no_tls) how.detail += "; leave out tls=on, or set up TLS in the server";
        if (says(text, "certificate verify failed"))
            how.detail += "; the option ca names the file of the authority that signed the server's certificate";
        if (says(text, "does not match host name"))
            how.detail += "; if that is the server, the option server_name says which name to expect";
        if (says(text, "alert")) how.detail += "; the server does not accept our certificate: options cert and key";
        if (no_password) how.detail += "; give one in the address, in password_file or in PGPASSWORD";
        how.unmet = !how.hopeless;
        return how;
    }
    switch (const kind is = kind_of(state)) {
        case kind::denied:
            how.is = kind::denied;
            how.hopeless = true;
            if (says(text, "no encryption")) how.detail += "; if the server demands TLS (hostssl), write tls=on";
            if (says(text, "requires a valid client certificate"))
                how.detail += "; give one with the options cert and key";
            break;
        case kind::exhausted:
            how.is = is;
            break;
        default:
            if (state == "3D000") {  // no such database
                how.is = kind::refused;
                how.hopeless = true;
            } else if (state == "08P01") {
                how.is = kind::refused;
                how.hopeless = true;
                how.detail += "; is it a pooler? Name the server itself";
            }
    }
    return how;
}

}  // namespace mortise::inline v0::stores::postgres
