// Clients whose callers try, wait, give up, are cancelled and hold, all at once: whatever may leave a claim behind.
#pragma once

#include "checker/history/audit.hpp"

#include <mortise/client.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::testing {

class crowd {
public:
    struct plan {
        std::vector<std::string> urls;  // a client each
        std::chrono::nanoseconds lease = std::chrono::seconds{2};
        std::size_t names = 3;
        std::size_t callers = 2;                   // of each client
        std::chrono::milliseconds stay{2};         // inside, at most
        std::chrono::milliseconds short_wait{20};  // of those who give up or are cancelled, at most
        std::chrono::seconds long_wait{20};        // of the others
        client_options client{};
        std::function<mortise::client(const std::string& url, client_options)> open = [](const std::string& url,
                                                                                         client_options options) {
            return mortise::client{url, std::move(options)};
        };
    };

    explicit crowd(plan what) : what_(std::move(what)) {
        for (const std::string& url : what_.urls)
            clients_.push_back(std::make_unique<client>(what_.open(url, what_.client)));
        for (std::size_t i = 0; i < what_.callers * clients_.size(); ++i)
            callers_.emplace_back([this, i](const std::stop_token& over) {
                run(*clients_[i / what_.callers], static_cast<unsigned>(i) + 1, over);
            });
    }

    // The callers leave, and the clients stay.
    void rest() {
        for (std::jthread& one : callers_) one.request_stop();
        callers_.clear();
    }

    std::vector<spi::admitted_claim> admitted() const {
        std::vector<const client*> all;
        for (const auto& one : clients_) all.push_back(one.get());
        return admitted_by(all);
    }
    std::uint64_t granted() const { return granted_; }
    std::uint64_t refused() const { return refused_; }

private:
    void run(client& locks, unsigned seed, const std::stop_token& over) {
        std::minstd_rand dice{seed};
        const auto up_to = [&](std::chrono::milliseconds most) {
            return std::chrono::milliseconds{dice() % static_cast<unsigned>(most.count() + 1)};
        };
        while (!over.stop_requested()) {
            claim_options how{.lease = what_.lease};
            std::stop_source giving_up;
            std::jthread cancels;
            switch (dice() % 4) {
                case 0:
                    how.wait = std::chrono::seconds{0};
                    break;
                case 1:
                    how.wait = up_to(what_.short_wait);
                    break;
                case 2:
                    how.wait = what_.long_wait;
                    how.stop = giving_up.get_token();
                    cancels = std::jthread{[&giving_up, later = up_to(what_.short_wait)] {
                        std::this_thread::sleep_for(later);
                        giving_up.request_stop();
                    }};
                    break;
                default:
                    how.wait = what_.long_wait;
            }
            const attempt got = locks.try_acquire("name " + std::to_string(dice() % what_.names), how);
            ++(got ? granted_ : refused_);
            if (got) std::this_thread::sleep_for(up_to(what_.stay));
        }
    }

    const plan what_;
    std::atomic<std::uint64_t> granted_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<std::jthread> callers_;
};

}  // namespace mortise::testing
