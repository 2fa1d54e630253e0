// Clients that contend for a few names while something happens to their servers.
#pragma once

#include "checker/history/audit.hpp"
#include "checker/history/overlap.hpp"

#include <mortise/client.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace mortise::testing {

// Each client is a thread with a connection of its own. A visit lasts from the grant to the last moment at which the hold was
// seen to be valid: two that overlap are two valid holds at once.
class traffic {
public:
    struct plan {
        std::vector<std::string> urls;  // a client each
        std::vector<std::string> names{"x"};
        claim_options how{.wait = std::chrono::seconds{20}};
        std::chrono::microseconds stay{2000};  // inside, at most
        client_options client{};
    };
    struct verdict {
        std::size_t visits = 0;
        std::size_t overlaps = 0;
        std::size_t token_disorders = 0;
        std::size_t lost = 0;     // holds that ended below their owner
        std::size_t refused = 0;  // claims
        std::string last_refusal{};
    };

    explicit traffic(plan what) : what_(std::move(what)) {
        for (std::size_t i = 0; i < what_.urls.size(); ++i) crew_.emplace_back([this, i] { run(i); });
    }
    ~traffic() { stop(); }
    traffic(const traffic&) = delete;
    traffic& operator=(const traffic&) = delete;

    std::uint64_t visits() const { return visits_; }

    // By its clients, which go when it is stopped.
    std::vector<spi::admitted_claim> admitted() const {
        std::scoped_lock guard{clients_mutex_};
        return admitted_by(clients_);
    }

    // Ends it, and judges each name by itself.
    verdict stop() {
        over_ = true;
        for (std::thread& one : crew_)
            if (one.joinable()) one.join();
        std::scoped_lock guard{mutex_};
        verdict all = said_;
        for (auto& [name, visits] : history_) {
            const auto found = visit_history::check(visits);
            all.visits += found.visits;
            all.overlaps += found.overlaps;
            all.token_disorders += found.token_disorders;
        }
        return all;
    }

private:
    void run(std::size_t i) {
        client locks{what_.urls[i], what_.client};
        const presence here{*this, locks};
        std::minstd_rand dice{static_cast<unsigned>(i) + 1};
        while (!over_) {
            const std::string& name = what_.names[dice() % what_.names.size()];
            attempt got = locks.try_acquire(name, what_.how);
            if (got) {
                visit(name, *got, std::chrono::microseconds{dice() % what_.stay.count()});
            } else {
                std::scoped_lock guard{mutex_};
                ++said_.refused;
                said_.last_refusal = got.refusal().describe();
            }
        }
    }

    // Of a client, while it can be asked.
    class presence {
    public:
        presence(traffic& in, const client& which) : in_(in), which_(which) {
            std::scoped_lock guard{in_.clients_mutex_};
            in_.clients_.push_back(&which_);
        }
        ~presence() {
            std::scoped_lock guard{in_.clients_mutex_};
            std::erase(in_.clients_, &which_);
        }
        presence(const presence&) = delete;
        presence& operator=(const presence&) = delete;

    private:
        traffic& in_;
        const client& which_;
    };

    void visit(const std::string& name, hold& mine, std::chrono::microseconds stay) {
        const boot_clock::time_point entered = boot_clock::now();
        boot_clock::time_point seen = entered;
        bool valid = mine.valid();
        visit_history::visit noted{entered, entered, mine.token().value()};
        while (valid && seen - entered < stay) {
            std::this_thread::sleep_for(std::chrono::microseconds{200});
            seen = boot_clock::now();
            valid = mine.valid();
            if (valid) noted.left = seen;  // and not only from then on: what is lost stays lost
        }
        const release_result result = mine.release();
        std::scoped_lock guard{mutex_};
        if (!valid || result == release_result::expired || result == release_result::taken_over) ++said_.lost;
        if (!valid && noted.left == entered) return;  // never seen to be valid
        history_[name].push_back(noted);
        ++visits_;
    }

    const plan what_;
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> visits_{0};
    std::mutex mutex_;
    verdict said_;
    std::map<std::string, std::vector<visit_history::visit>> history_;
    mutable std::mutex clients_mutex_;
    std::vector<const client*> clients_;
    std::vector<std::thread> crew_;
};

}  // namespace mortise::testing
