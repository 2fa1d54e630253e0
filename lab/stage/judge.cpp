#include "lab/stage/judge.hpp"

#include "lab/performance.hpp"
#include "lab/story.hpp"

#include <algorithm>
#include <optional>

namespace lab {
namespace {

// What can be said of those who hold, wait and have gone.
struct beliefs {
    std::set<std::string> holding{};
    std::set<std::string> waiting{};
    std::set<mishap> seen{};

    void take(const std::string& who) {
        if (!holding.empty() && !holding.contains(who)) seen.insert(mishap::overlap);
        holding.insert(who);
        waiting.erase(who);
    }
    void leave(const std::string& who) {
        holding.erase(who);
        waiting.erase(who);
    }
};

}  // namespace

text to_text(mishap what) {
    switch (what) {
        case mishap::overlap:
            return {"two hold it at once", "两个持有者同时持锁"};
        case mishap::stuck:
            return {"held by nobody, and not to be had", "没有人持锁，却谁也拿不到"};
        case mishap::lost_update:
            return {"a sale is lost", "丢失更新：卖出的票没有扣减"};
        case mishap::repeated:
            return {"done more than once", "本该一次的工作做了多次"};
        case mishap::herd:
            return {"all who wait are woken for one", "惊群：一次释放唤醒所有等待者"};
        case mishap::hangs:
            return {"waits for itself", "自己等自己"};
        case mishap::gives_up:
            return {"a write is dropped", "写入被丢弃"};
        case mishap::deadlock:
            return {"deadlock: one is rolled back", "死锁：其中一个被回滚"};
        case mishap::exhausted:
            return {"no connection is left", "连接耗尽"};
        case mishap::fails:
            return {"somebody fails", "有人出错退出"};
        case mishap::idle:
            return {"nothing is done under the lock", "没有人在锁内做事"};
    }
    return {};
}

std::set<mishap> judged(const trace& all) {
    beliefs now;
    std::optional<std::int64_t> stock;
    std::int64_t sold = 0;
    int worked = 0;
    for (const event& each : all) {
        switch (each.kind) {
            case kind::holds:
                now.take(each.actor);
                break;
            case kind::lets_go:
            case kind::lost:
            case kind::crash:
            case kind::ends:
                now.leave(each.actor);
                break;
            case kind::waits:
                now.waiting.insert(each.actor);
                break;
            case kind::refused:
                if (now.holding.empty()) now.seen.insert(mishap::stuck);
                break;
            case kind::sold:
                ++sold;
                break;
            case kind::worked:
                if (++worked > 1) now.seen.insert(mishap::repeated);
                break;
            case kind::stock:
                if (stock && *stock - sold != each.number) now.seen.insert(mishap::lost_update);
                if (!stock) stock = each.number;
                break;
            default:
                break;
        }
    }
    if (!now.waiting.empty() && now.holding.empty()) now.seen.insert(mishap::stuck);
    return now.seen;
}

std::set<mishap> judged(const story& told, form played, const trace& all) {
    const auto seen = [&](kind what) { return std::ranges::find(all, what, &event::kind) != all.end(); };
    std::set<mishap> made = judged(all);
    if (!told.throws && seen(kind::failed)) made.insert(mishap::fails);
    if (played == form::naive) return made;
    if (told.mend_locks && !seen(kind::granted)) made.insert(mishap::idle);
    if (told.stock > 0 && !seen(kind::sold)) made.insert(mishap::idle);
    return made;
}

}  // namespace lab
