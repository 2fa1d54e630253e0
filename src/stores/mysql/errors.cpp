#include "stores/mysql/errors.hpp"

#include <algorithm>
#include <string>

namespace mortise::inline v0::stores::mysql {
namespace {

using kind = sql::outcome::kind;

// One line, with the number that manuals and search engines know.
std::string line_of(unsigned number, std::string_view message) {
    std::string line{message};
    std::replace_if(
        line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
    while (line.ends_with(' ') || line.ends_with('.')) line.pop_back();
    return (line.empty() ? "the server gave no reason" : line) + " (error " + std::to_string(number) + ")";
}

kind kind_of(unsigned number) {
    switch (number) {
        case 1205:  // lock wait timeout; MariaDB: NOWAIT too
        case 1213:  // deadlock
        case 3572:  // MySQL: NOWAIT
        case 3058:  // MySQL: deadlock of user-level locks
        case 1020:  // MariaDB: changed since the snapshot was made
        case 1317:  // KILL QUERY
        case 1969:  // MariaDB: max_statement_time
        case 3024:  // MySQL: max_execution_time
        case 3101:  // MySQL: a group's certification rolled it back
        case 1615:  // the table changed; it has to be prepared anew
        case 1243:  // likewise, it is not known any more
            return kind::conflict;
        case 1044:
        case 1045:
        case 1130:
        case 1142:
        case 1143:
        case 1227:
        case 1370:
        case 1410:
        case 1419:  // routines need SUPER while the binary log is on
        case 1698:
        case 1820:  // the password must be changed first
        case 1862:  // it has expired
            return kind::denied;
        case 1223:  // FLUSH TABLES WITH READ LOCK
        case 1290:  // --read-only
        case 1792:  // READ ONLY transaction
        case 1836:  // read-only mode
        case 1047:  // Galera: this node has no quorum
            return kind::read_only;
        case 1021:
        case 1026:
        case 1114:
        case 3169:
            return kind::full;
        case 1046:
        case 1049:
        case 1146:
        case 1305:
            return kind::no_schema;
        case 1048:
        case 1054:
        case 1136:
        case 1176:  // an index is missing
        case 1264:
        case 1265:
        case 1318:
        case 1364:
        case 1366:
        case 1406:
        case 1644:  // SIGNAL, of a trigger that is not ours
        case 4025:
            return kind::foreign;
        case 1062:
            return kind::exists;
        case 1037:
        case 1038:
        case 1040:
        case 1041:
        case 1203:
        case 1226:
        case 1461:
        case 1467:  // no AUTO_INCREMENT number: none is left, or a KILL QUERY came while it was taken
            return kind::exhausted;
        default:
            return ends_connection(number) ? kind::unsure : kind::refused;
    }
}

}  // namespace

bool ends_connection(unsigned number) noexcept {
    if (number >= 2000 && number < 3000) return true;  // of the client library: nothing is sure to be in step any more
    switch (number) {
        case 1053:  // the server shuts down
        case 1077:
        case 1078:
        case 1079:
        case 1080:
        case 1152:
        case 1153:
        case 1158:
        case 1159:
        case 1160:
        case 1161:
        case 1184:
        case 1927:  // MariaDB: KILL
        case 4031:  // MySQL: idle for too long
            return true;
        default:
            return false;
    }
}

sql::outcome failure_of(unsigned number, std::string_view message) {
    // "Got error 28 from storage engine", "Incorrect key file for table": a full disk has many words.
    const bool full = (number == 1030 || number == 1126 || number == 1034 || number == 3) &&
                      (message.find("28") != std::string_view::npos || message.find("space") != std::string_view::npos);
    return {.is = full ? kind::full : kind_of(number), .detail = line_of(number, message)};
}

sql::outcome connect_failure_of(unsigned number, std::string_view message, const net::tls_settings& tls) {
    sql::outcome how = failure_of(number, message);
    switch (number) {
        case 2002:
        case 2003:
        case 2005:
        case 2007:  // another protocol
            how.is = kind::unsent;
            how.unmet = true;
            break;
        case 2026: {  // TLS
            const auto says = [&](std::string_view what) { return message.find(what) != std::string_view::npos; };
            const bool missing = says("not support") || says("required, but");
            how.is = missing ? kind::denied : kind::unsent;
            how.hopeless = missing;
            if (missing) how.detail = "the server does not speak TLS; " + tls.if_plain;
            break;
        }
        case 1129:  // blocked after too many errors
        case 1251:
        case 1275:
        case 2049:
        case 2054:
        case 2058:
        case 2059:  // a plugin for authentication is missing
        case 2061:
        case 3159:  // require_secure_transport
            how.is = kind::denied;
            how.hopeless = true;
            if (number == 3159 && !tls.on) how.detail += "; " + tls.if_needed;
            break;
        default:
            if (how.is == kind::unsure) how.is = kind::unsent;
            how.hopeless = how.is == kind::denied || how.is == kind::no_schema;
            // A server that rejects a certificate may close before it has said so.
            if (number == 2013 && tls.on && !tls.certificate.empty())
                how.detail += "; if this goes on, it may not accept our certificate: see the options cert and key";
            // The server does not say what it misses.
            if (number == 1045 && !tls.on)
                how.detail += "; if the server or the user demands TLS (REQUIRE SSL), add tls=on";
            else if (number == 1045 && tls.certificate.empty())
                how.detail += "; if the user needs a certificate (REQUIRE X509), give one: options cert and key";
            break;
    }
    if (how.is == kind::no_schema) how.detail += "; create the database, or correct the path of the address";
    return how;
}

}  // namespace mortise::inline v0::stores::mysql
