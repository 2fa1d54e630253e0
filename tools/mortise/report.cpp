#include "report.hpp"

#include <mortise/error.hpp>

namespace command {
namespace {

std::string story(const std::string& name, const mortise::refusal& no) {
    const bool busy = no.reason == mortise::errc::busy || no.reason == mortise::errc::timed_out;
    if (!busy) return no.describe();
    std::string text = in_quotes(name) + " is held";
    if (no.holder) text += " by " + holder_text(*no.holder) + held_for_text(*no.holder);
    if (no.reason == mortise::errc::busy) {  // it did not queue: who would have been before it
        if (no.place && *no.place > 1) text += "; " + std::to_string(*no.place - 1) + " waiting";
        return text + "; use -w T to wait";
    }
    if (no.place) text += "; place in the queue " + std::to_string(*no.place);
    return text + "; the wait timed out";
}

}  // namespace

int report(bool wants_json, int code, const std::string& name, const mortise::refusal& no) {
    const std::string what = story(name, no);
    if (!wants_json) return report(false, code, what);
    json made;
    made.add("error", what).add("name", name).add("exit", std::int64_t{code});
    if (no.holder) made.add("holder", as_json(*no.holder));
    if (no.place) made.add("place", static_cast<std::int64_t>(*no.place));
    complain(made.text());
    return code;
}

}  // namespace command
