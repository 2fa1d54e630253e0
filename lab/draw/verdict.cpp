#include "lab/draw/verdict.hpp"

#include "lab/story.hpp"

namespace lab {
namespace {

text listed(const std::set<mishap>& all) {
    if (all.empty()) return {"nothing goes wrong", "没有出错"};
    text line;
    for (const mishap each : all) {
        const text words = to_text(each);
        line.en += (line.en.empty() ? "" : ", ") + words.en;
        line.zh += (line.zh.empty() ? "" : "；") + words.zh;
    }
    return line;
}

}  // namespace

verdict verdict_of(const story& told, const performance& played) {
    const std::set<mishap>& expected = played.played == form::naive ? told.ends_in : told.mend_ends_in;
    const bool as_told = played.seen == expected;
    const bool beyond_mending = played.played == form::mended && as_told && !played.seen.empty();
    const bool holds = played.seen.empty();
    verdict made{.good = as_told && (holds || beyond_mending), .as_told = as_told};
    const text seen = listed(played.seen);
    if (beyond_mending)
        made.sentence = {"No harm: " + seen.en + ", which no lock can prevent",
                         "没有损害：" + seen.zh + "，这是锁无法避免的"};
    else if (holds)
        made.sentence = {"Holds: " + seen.en, "锁有效：" + seen.zh};
    else
        made.sentence = {"Broken: " + seen.en, "锁失效：" + seen.zh};
    if (made.as_told) return made;
    const text wanted = listed(expected);
    made.sentence.en += " (not as told: " + wanted.en + ")";
    made.sentence.zh += "（与所述不符：" + wanted.zh + "）";
    return made;
}

}  // namespace lab
