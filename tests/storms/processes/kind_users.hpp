// What a thread of a storm does with each kind, again and again: takes it in one of the ways there are, shows itself on the
// page, gives it back.
#pragma once

#include "storms/processes/kind_page.hpp"

#include <mortise/client.hpp>
#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mortise::testing {

// A turn: at least one grant, or a wait that was short on purpose.
class kind_user {
public:
    kind_user(page_lane lane, unsigned seed) : lane_(lane), dice_(seed) {}
    virtual ~kind_user() = default;
    virtual void turn() = 0;

protected:
    using doing = kind_page::doing;

    unsigned below(unsigned n) { return dice_() % n; }
    void ask() { lane_.does(doing::asking); }
    // Now and then somebody else runs while we are inside.
    void work() {
        if (below(16) != 0) return;
        std::this_thread::yield();
        std::this_thread::sleep_for(lane_.page().linger);
    }
    bool must(bool got) {
        if (!got) ++lane_.page().stuck;
        return got;
    }
    bool may(bool got) {
        if (!got) ++lane_.page().short_waits;
        return got;
    }
    std::chrono::microseconds a_moment() { return std::chrono::microseconds{below(300)}; }

    page_lane lane_;
    const std::chrono::milliseconds patience = lane_.page().patience;

private:
    std::minstd_rand dice_;
};

class shared_mutex_user final : public kind_user {
public:
    enum : std::size_t { none, reads, may_upgrade, writes };
    static void set(kind_page& page) {
        page.capacity = std::uint64_t{1} << 31;
        page.weights = {0, 1, page.capacity / 2 + 1, page.capacity};
    }
    shared_mutex_user(client& locks, page_lane lane, unsigned seed) : kind_user(lane, seed), lock_(locks, "n") {}

    void turn() override {
        ask();
        const unsigned way = below(20);
        if (way < 10) {
            if (must(lock_.try_lock_shared_for(patience))) read();
        } else if (way < 13) {
            if (must(lock_.try_lock_for(patience))) write();
        } else if (way < 18) {
            if (must(lock_.try_lock_upgradeable_for(patience))) read_and_perhaps_write();
        } else if (way < 19) {
            if (may(lock_.try_lock_for(a_moment()))) write();
        } else {
            if (may(lock_.try_lock_shared_for(a_moment()))) read();
        }
    }

private:
    void entered(std::size_t way) {
        lane_.enter(0, way, lock_.hold().token().value());
        work();
    }
    void read() {
        entered(reads);
        lane_.leave(0);
        lock_.unlock_shared();
    }
    void write() {
        entered(writes);
        step_down();
    }
    void read_and_perhaps_write() {
        entered(may_upgrade);
        lane_.does(doing::upgrading);
        const unsigned how = below(4);
        const bool up = how < 2   ? must(lock_.try_upgrade_for(patience))
                        : how < 3 ? may(lock_.try_upgrade_for(a_moment()))
                                  : false;
        if (up) {
            entered(writes);
            return step_down();
        }
        lane_.leave(0);
        lock_.unlock_upgradeable();
    }
    // From a write: to nothing, or by a step or two.
    void step_down() {
        const unsigned how = below(4);
        if (how == 0) {
            lane_.lower(0, reads);
            lock_.downgrade_to_shared();
            return read();
        }
        if (how == 1) {
            lane_.lower(0, may_upgrade);
            lock_.downgrade();
            entered(may_upgrade);
            lane_.leave(0);
            lock_.unlock_upgradeable();
            return;
        }
        lane_.leave(0);
        lock_.unlock();
    }

    shared_mutex lock_;
};

// One thread of each process writes, the others read for so long that the name is never free.
class stream_user final : public kind_user {
public:
    static void set(kind_page& page) { shared_mutex_user::set(page); }
    stream_user(client& locks, page_lane lane, unsigned seed) : kind_user(lane, seed), lock_(locks, "n") {}

    void turn() override {
        ask();
        if (writes()) {
            if (!must(lock_.try_lock_for(patience))) return;
            lane_.enter(0, shared_mutex_user::writes, lock_.hold().token().value());
            lane_.leave(0);
            lock_.unlock();
        } else {
            if (!must(lock_.try_lock_shared_for(patience))) return;
            lane_.enter(0, shared_mutex_user::reads, lock_.hold().token().value());
            std::this_thread::sleep_for(std::chrono::microseconds{300 + below(300)});
            lane_.leave(0);
            lock_.unlock_shared();
        }
    }
    static bool writes(std::size_t lane) { return lane % kind_page::threads == 0; }

private:
    bool writes() const { return writes(lane_.number()); }

    shared_mutex lock_;
};

class semaphore_user final : public kind_user {
public:
    static constexpr std::array<std::ptrdiff_t, kind_page::most_classes> permits{0, 1, 3, 5};
    static void set(kind_page& page) {
        page.capacity = 5;
        page.weights = {0, 1, 3, 5};
    }
    semaphore_user(client& locks, page_lane lane, unsigned seed) : kind_user(lane, seed), pool_(locks, "n", 5) {}

    void turn() override {
        ask();
        const unsigned dice = below(10);
        const std::size_t some = dice < 6 ? 1 : dice < 9 ? 2 : 3;
        const bool briefly = below(20) == 0;
        attempt got =
            briefly ? pool_.try_acquire_for(permits[some], a_moment()) : pool_.try_acquire_for(permits[some], patience);
        if (!(briefly ? may(static_cast<bool>(got)) : must(static_cast<bool>(got)))) return;
        lane_.enter(0, some, got->token().value());
        work();
        lane_.leave(0);
        got->release();
    }

private:
    counting_semaphore pool_;
};

// Two or three of four names, given in any order.
class multi_lock_user final : public kind_user {
public:
    static void set(kind_page&) {}
    multi_lock_user(client& locks, page_lane lane, unsigned seed) : kind_user(lane, seed), locks_(locks) {}

    void turn() override {
        ask();
        for (std::size_t i = order_.size() - 1; i > 0; --i)
            std::swap(order_[i], order_[below(static_cast<unsigned>(i + 1))]);
        const std::size_t count = below(4) == 0 ? 3 : 2;
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; ++i) names.push_back(name_of(order_[i]));
        multi_lock several{locks_, names};
        const bool briefly = below(20) == 0;
        multi_attempt got = briefly ? several.try_acquire_for(a_moment()) : several.try_acquire_for(patience);
        if (!(briefly ? may(static_cast<bool>(got)) : must(static_cast<bool>(got)))) return;
        for (std::size_t i = 0; i < count; ++i) lane_.enter(order_[i], 1, got->at(names[i]).token().value());
        work();
        for (std::size_t i = 0; i < count; ++i) lane_.leave(order_[i]);
        got->release();
    }

private:
    static std::string name_of(std::size_t n) { return "account " + std::to_string(n); }

    client& locks_;
    std::array<std::size_t, kind_page::names> order_{0, 1, 2, 3};
};

class recursive_mutex_user final : public kind_user {
public:
    static void set(kind_page&) {}
    recursive_mutex_user(client& locks, page_lane lane, unsigned seed) : kind_user(lane, seed), lock_(locks, "n") {}

    void turn() override {
        ask();
        const bool briefly = below(20) == 0;
        if (!(briefly ? may(lock_.try_lock_for(a_moment())) : must(lock_.try_lock_for(patience)))) return;
        const unsigned deeper = below(3);
        const token mine = lock_.hold().token();
        for (unsigned i = 0; i < deeper; ++i) must(lock_.try_lock());
        lane_.enter(0, 1, mine.value());
        work();
        for (unsigned i = 0; i < deeper; ++i) {
            lock_.unlock();
            if (!lock_.hold().valid() || lock_.hold().token() != mine) lane_.page().complain("an inner unlock let go");
        }
        lane_.leave(0);
        lock_.unlock();
    }

private:
    recursive_mutex lock_;
};

}  // namespace mortise::testing
