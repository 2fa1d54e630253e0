// Stories made by hand, as a stage would have seen them.
#pragma once

#include "lab/performance.hpp"
#include "lab/story.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace lab::testing {

class script {
public:
    script& enter(const std::string& actor) { return add(kind::enters, actor); }
    script& command(const std::string& actor, text what, std::string state = {}) {
        add(kind::command, actor, std::move(what));
        made_.back().state = std::move(state);
        return *this;
    }
    script& hold(const std::string& actor, std::int64_t token = 0) { return add(kind::holds, actor, {}, token); }
    script& add(kind what, const std::string& actor, text words = {}, std::int64_t number = 0) {
        made_.push_back({.kind = what, .actor = actor, .what = std::move(words), .number = number, .time = now_});
        return *this;
    }
    script& pass(std::chrono::seconds by) {
        const std::string span = std::to_string(by.count()) + " s";
        add(kind::pass, "", {span + " pass", span + " 过去了"});
        now_ += by + std::chrono::milliseconds{1};
        return *this;
    }

    operator trace() const { return made_; }

private:
    trace made_{};
    std::chrono::nanoseconds now_{};
};

// Thread 2 gets in while thread 1 works.
inline trace two_at_once() {
    const std::string set = "SET lock:ticket 1 EX 10 NX → OK";
    const std::string state = "lock:ticket = 1, 10 s";
    script all;
    all.enter("thread 1").enter("thread 2");
    all.command("thread 1", set, state)
        .hold("thread 1")
        .add(kind::point, "thread 1", "at work")
        .pass(std::chrono::seconds{10});
    all.command("thread 2", set, state).hold("thread 2").pass(std::chrono::seconds{5});
    all.add(kind::lets_go, "thread 1").command("thread 1", "DEL lock:ticket → 1").add(kind::ends, "thread 1");
    all.add(kind::lets_go, "thread 2").command("thread 2", "DEL lock:ticket → 0").add(kind::ends, "thread 2");
    return all;
}

constexpr std::int64_t older = 1794976569009000;
constexpr std::int64_t newer = 1794976580010000;

// The same with tokens, one after the other.
inline trace one_by_one() {
    const auto granted = [](std::int64_t token) {
        const std::string number = std::to_string(token);
        return text{"claim ticket → granted, token " + number, "claim ticket → 已授予，令牌 " + number};
    };
    script all;
    all.enter("thread 1").enter("thread 2");
    all.command("thread 1", granted(older)).hold("thread 1", older);
    all.command("thread 2", {"claim ticket → waits in line", "claim ticket → 排队等待"}).add(kind::waits, "thread 2");
    all.pass(std::chrono::seconds{5});
    all.add(kind::lets_go, "thread 1").command("thread 1", {"release ticket → released", "release ticket → 已释放"});
    all.add(kind::ends, "thread 1");
    all.command("thread 2", granted(newer)).hold("thread 2", newer);
    all.add(kind::lets_go, "thread 2").command("thread 2", {"release ticket → released", "release ticket → 已释放"});
    all.add(kind::ends, "thread 2");
    return all;
}

// The lane of A is as wide as its crash.
inline trace crash_in_between() {
    script all;
    all.enter("A").enter("B").command("A", "SETNX lock A → 1").add(kind::point, "A", "BETWEEN SETNX AND EXPIRE");
    all.add(kind::crash, "A").pass(std::chrono::hours{1} + std::chrono::seconds{20});
    all.command("B", "SETNX lock B → 0").add(kind::refused, "B").add(kind::ends, "B");
    return all;
}

inline story sample_story() {
    return {.name = "sample",
            .row = "R0",
            .documents = "–",
            .title = {"Two at once", "两个同时持有"},
            .mistake = {"The lease ends while the holder works.", "租期在业务执行中结束。"},
            .told = {"Thread 2 gets in after 10 s.", "第 10 秒线程 2 进来。"},
            .mend = {"The lease is renewed.", "自动续期。"},
            .naive = nullptr,
            .mended = nullptr,
            .play = nullptr,
            .ends_in = {mishap::overlap}};
}

inline performance played(form which, trace all) {
    std::set<mishap> seen = judged(all);
    return {which, std::move(all), std::move(seen)};
}

inline performance sample_naive() {
    return played(form::naive, two_at_once());
}
inline performance sample_mended() {
    return played(form::mended, one_by_one());
}

// What somebody might put into a key, a value or a name.
inline const std::string hostile = std::string("</text><script>alert(1)</script> ]]> \"'&amp; ") + '\0' +
                                   "\x1b[31m \xff\xc3( \xed\xa0\x80 \xef\xbf\xbf \u202egnp.exe 令牌";

// Six actors, forty commands, none of which fits.
inline trace crowd() {
    script all;
    for (int i = 1; i <= 6; ++i) all.enter("a thread with a long name " + std::to_string(i));
    for (int i = 0; i < 40; ++i) {
        const std::string actor = "a thread with a long name " + std::to_string(i % 6 + 1);
        const std::string words =
            "SET lock:a-key-without-any-space-that-is-much-too-long-for-a-lane:" + std::to_string(i) +
            " 锁的值也很长很长很长很长很长很长 EX 10 NX";
        all.command(actor, words + " → " + hostile,
                    "lock:ticket = " + hostile + ", 10 s; fence = " + std::to_string(older));
        if (i < 12) all.hold(actor, older + i);
        if (i % 7 == 0)
            all.add(kind::tell, "", {"The story speaks, at some length, of what will go wrong.", "故事说：" + hostile});
        if (i % 10 == 9) all.pass(std::chrono::seconds{i});
        if (i == 20) all.add(kind::point, actor, "between one and the other").add(kind::stop, actor);
        if (i == 21) all.add(kind::point, actor, "BETWEEN SETNX AND EXPIRE").add(kind::crash, actor);
        if (i == 22) all.add(kind::lost, actor);
        if (i == 26) all.add(kind::resume, "a thread with a long name 3");
    }
    return all;
}

}  // namespace lab::testing
