// What a client of a storm asked its store for, and when it was heard: the evidence of the order in which claims are served.
#pragma once

#include "checker/history/queue_history.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::testing {

class claim_notes {
public:
    void asked(const spi::claim_request& wanted) {
        const std::scoped_lock guard{mutex_};
        open_.try_emplace(wanted.id,
                          queued_claim{.asked = now(), .weight = wanted.weight, .capacity = wanted.capacity});
    }
    void queued(const claim_id& id) {
        const std::scoped_lock guard{mutex_};
        if (const auto it = open_.find(id); it != open_.end() && it->second.in_line == 0) it->second.in_line = now();
    }
    void granted(const claim_id& id, std::uint64_t counter) {
        const std::scoped_lock guard{mutex_};
        const auto it = open_.find(id);
        if (it == open_.end()) return;
        queued_claim& one = it->second;
        one.granted = now();
        if (one.in_line == 0) one.in_line = one.granted;
        one.counter = counter;
        served_.push_back(one);
        open_.erase(it);
    }
    void gone(const claim_id& id) {
        const std::scoped_lock guard{mutex_};
        open_.erase(id);
    }

    // Only what was granted is written: who left the line has no place in it.
    void save(const std::string& file) const {
        const std::scoped_lock guard{mutex_};
        std::ofstream{file, std::ios::binary}.write(reinterpret_cast<const char*>(served_.data()),
                                                    static_cast<std::streamsize>(served_.size() * sizeof served_[0]));
    }
    static void load(const std::string& file, std::vector<queued_claim>& into) {
        std::ifstream in{file, std::ios::binary};
        for (queued_claim one; in.read(reinterpret_cast<char*>(&one), sizeof one);) into.push_back(one);
    }

private:
    static std::int64_t now() { return boot_clock::now().time_since_epoch().count(); }

    mutable std::mutex mutex_;
    std::unordered_map<claim_id, queued_claim> open_;
    std::vector<queued_claim> served_;
};

// A store whose claims are written down.
class noted_store final : public spi::store_wrapper {
public:
    noted_store(const spi::context& outer, const spi::store_factory& inner, std::shared_ptr<claim_notes> notes)
        : store_wrapper(outer, inner), notes_(std::move(notes)) {}

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        if (wanted.instead_of == claim_id{}) notes_->asked(wanted);  // an upgrade goes before the line
        store_wrapper::claim(wanted, [notes = notes_, id = wanted.id, done = std::move(done)](auto said) mutable {
            using verdict = spi::claim_answer::verdict;
            if (said.is == verdict::queued) notes->queued(id);
            if (said.is == verdict::granted) notes->granted(id, said.grant.counter);
            done(std::move(said));
        });
    }
    void granted(std::string_view name, const claim_id& id, const spi::grant& given) override {
        notes_->granted(id, given.counter);
        store_wrapper::granted(name, id, given);
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        notes_->gone(id);
        store_wrapper::release(name, id, std::move(done));
    }

private:
    const std::shared_ptr<claim_notes> notes_;
};

// A specimen that must be convicted: says that a claim is in line, and puts it there when it gets round to it.
class hasty_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        if (!wanted.queue) return store_wrapper::claim(wanted, std::move(done));
        const auto later = std::chrono::microseconds{wanted.id.bits[0] % 3000};
        clock().at(clock().now() + later, [this, wanted, name = std::string(wanted.name)] {
            spi::claim_request late = wanted;
            late.name = name;
            late.label = {};
            inner().claim(late, [this, name, id = late.id](const spi::claim_answer& said) {
                if (said.is == spi::claim_answer::verdict::granted) granted(name, id, said.grant);
            });
        });
        done({.is = spi::claim_answer::verdict::queued});
    }
};

// Another one: a claim that fits beside nobody does not stand in line but tries again and again, and so do the readers come
// first for as long as there are any.
class shy_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        if (!wanted.queue || wanted.weight != wanted.capacity) return store_wrapper::claim(wanted, std::move(done));
        spi::claim_request again = wanted;
        again.queue = false;
        again.wait_slot = 0;
        again.label = {};
        try_again(again, std::string(wanted.name));
        done({.is = spi::claim_answer::verdict::queued});
    }

private:
    void try_again(const spi::claim_request& wanted, const std::string& name) {
        clock().at(clock().now() + std::chrono::milliseconds{1}, [this, wanted, name] {
            spi::claim_request late = wanted;
            late.name = name;
            inner().claim(late, [this, wanted, name](const spi::claim_answer& said) {
                if (said.is == spi::claim_answer::verdict::granted) granted(name, wanted.id, said.grant);
                if (said.is == spi::claim_answer::verdict::busy) try_again(wanted, name);
            });
        });
    }
};

}  // namespace mortise::testing
