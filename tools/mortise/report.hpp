// Error reports: one line on stderr, or one JSON object.
#pragma once

#include "exit_codes.hpp"
#include "holders.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <mortise/attempt.hpp>

#include <string>

namespace command {

inline int report(bool as_json, int code, const std::string& what) {
    complain(as_json ? json{}.add("error", what).add("exit", std::int64_t{code}).text() : "mortise: " + plain(what));
    return code;
}

inline int report(bool as_json, exit_code code, const std::string& what) {
    return report(as_json, static_cast<int>(code), what);
}

// What -v says of an event: "mortise: " and `words`, or the event and its details as JSON.
inline void inform(bool as_json, std::string_view event, json details, const std::string& words) {
    complain(as_json ? details.add("event", event).text() : "mortise: " + words);
}

// A refused claim. The one line names the holder: host, pid, label, since when.
int report(bool as_json, int code, const std::string& name, const mortise::refusal& no);

}  // namespace command
