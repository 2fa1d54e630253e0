#include "stores/etcd/watch_table.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t most_idle = 128;
constexpr seconds idle_for{1};

// Two rounds of etcd's.
constexpr milliseconds young_for{200};

}  // namespace

watch_table::number watch_table::wait(std::string key, std::int64_t read_at, begins how, spi::duration look, told then,
                                      spi::time_point now, actions& out) {
    return add(std::move(key), false, {0, read_at, writes::all, std::move(then)}, how, look, now, out);
}

watch_table::number watch_table::wait_for_writes(std::string folder, std::int64_t read_at, writes which, told then,
                                                 spi::time_point now, actions& out) {
    return add(std::move(folder), true, {0, read_at, which, std::move(then)}, begins::there, {}, now, out);
}

bool watch_table::is_folder(number which) const {
    const auto it = all_.find(which);
    return it != all_.end() && it->second.is_folder;
}

watch_table::number watch_table::add(std::string key, bool is_folder, waiter waits, begins how, spi::duration look,
                                     spi::time_point now, actions& out) {
    const auto [at, fresh] = by_key_.try_emplace(std::move(key), 0);
    // One of a folder that began later would not say what was written before; it goes on for those who wait on it.
    if (fresh || (is_folder && waits.read_at + 1 < all_[at->second].from)) {
        at->second = ++last_;
        const std::int64_t from = how == begins::now ? 0 : waits.read_at + 1;
        all_[at->second] = {.key = at->first, .from = from, .is_folder = is_folder};
        out.begin.push_back({at->second, at->first, from, is_folder});
    }
    watched_key& one = all_[at->second];
    if (one.idle) idle_.erase(*std::exchange(one.idle, std::nullopt));
    if (one.since && (waits.read_at < *one.since || waits.read_at < waits.counted(one.happened))) {
        out.tell.push_back(std::move(waits.then));
        rest(one, at->second, now, out);
        return 0;
    }
    const number waiting = ++last_;
    one.waiting.push_back(waiting);
    waits.on = at->second;
    waiters_[waiting] = std::move(waits);
    const bool young = !one.since || now < one.created + young_for;
    if (young && look > spi::duration::zero()) out.look_at = now + look;
    return waiting;
}

watch_table::actions watch_table::forget(number waiting, spi::time_point now) {
    actions out;
    const auto it = waiters_.find(waiting);
    if (it == waiters_.end()) return out;
    const number on = it->second.on;
    waiters_.erase(it);
    std::erase(all_[on].waiting, waiting);
    rest(all_[on], on, now, out);
    return out;
}

watch_table::actions watch_table::look_again(number waiting, spi::time_point now) {
    actions out;
    const auto it = waiters_.find(waiting);
    if (it == waiters_.end()) return out;
    out.tell.push_back(std::move(it->second.then));
    out.end = forget(waiting, now).end;
    return out;
}

template <class Which>
void watch_table::tell(watched_key& one, number which, Which of_those, spi::time_point now, actions& out) {
    std::erase_if(one.waiting, [&](number waiting) {
        const auto it = waiters_.find(waiting);
        if (!of_those(it->second)) return false;
        out.tell.push_back(std::move(it->second.then));
        waiters_.erase(it);
        return true;
    });
    rest(one, which, now, out);
}

watch_table::actions watch_table::created(number which, std::int64_t revision, spi::time_point now) {
    actions out;
    const auto it = all_.find(which);
    if (it == all_.end()) return out;
    watched_key& one = it->second;
    one.since = one.from == 0 ? revision : one.from - 1;
    one.created = now;
    tell(
        one, which, [&](const waiter& each) { return each.read_at < *one.since; }, now, out);
    return out;
}

watch_table::actions watch_table::happened(number which, latest at, spi::time_point now) {
    actions out;
    const auto it = all_.find(which);
    if (it == all_.end()) return out;
    watched_key& one = it->second;
    one.happened.any = std::max(one.happened.any, at.any);
    one.happened.but_of_readers = std::max(one.happened.but_of_readers, at.but_of_readers);
    tell(
        one, which, [&](const waiter& each) { return each.read_at < each.counted(at); }, now, out);
    return out;
}

watch_table::actions watch_table::cancelled(number which) {
    actions out;
    const auto it = all_.find(which);
    if (it == all_.end()) return out;
    for (const number waiting : it->second.waiting) {
        out.tell.push_back(std::move(waiters_[waiting].then));
        waiters_.erase(waiting);
    }
    drop(which, out);
    out.end.clear();  // it has ended
    return out;
}

// Each begins where the first of those who wait on it has read. What was deleted before that concerns nobody.
watch_table::actions watch_table::reopened() {
    actions gone;
    for (const std::list<number> resting = idle_; const number each : resting) drop(each, gone);
    actions out;
    for (auto& [which, one] : all_) {
        std::int64_t least = waiters_[one.waiting.front()].read_at;
        for (const number waiting : one.waiting) least = std::min(least, waiters_[waiting].read_at);
        one.from = one.since || one.from != 0 ? least + 1 : 0;
        one.since.reset();
        out.begin.push_back({which, one.key, one.from, one.is_folder});
    }
    return out;
}

watch_table::actions watch_table::sweep(spi::time_point now) {
    actions out;
    while (!idle_.empty() && all_[idle_.front()].idle_since + idle_for <= now) drop(idle_.front(), out);
    return out;
}

void watch_table::rest(watched_key& one, number which, spi::time_point now, actions& out) {
    if (!one.waiting.empty() || one.idle) return;
    one.idle_since = now;
    one.idle = idle_.insert(idle_.end(), which);
    if (idle_.size() > most_idle) drop(idle_.front(), out);
}

void watch_table::drop(number which, actions& out) {
    const auto it = all_.find(which);
    if (it->second.idle) idle_.erase(*it->second.idle);
    if (const auto at = by_key_.find(it->second.key); at != by_key_.end() && at->second == which) by_key_.erase(at);
    all_.erase(it);
    out.end.push_back(which);
}

}  // namespace mortise::inline v0::stores::etcd
