// Requests that arrive late, elsewhere, twice or never, verb by verb: nothing may stay taken that nobody holds.
//
// Each cell of the matrix is one client that reaches its servers through proxies of its own, and keeps another lock all the
// while, so that its session and its leases live on. In the middle of a verb the first proxy that it uses fails for longer than
// the client waits for an answer. Once it works again a stranger must get the lock, with the client still there, and then the
// client too.
#pragma once

#include "checker/faults/tcp_proxy.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace mortise::testing {

using namespace std::chrono_literals;

struct late_requests {
    enum class verb {
        claim,
        release,
        cancel,
        renewal,
        first_claim
    };  // the claim finds the name taken, the first one free
    enum class trouble {
        held,
        reply_lost,
        silent,
        overtaken,  // held alone: what is sent after it, on another connection, arrives before
    };

    struct cell {
        verb during;
        trouble befalls;
        std::chrono::milliseconds lease;
        int phase;  // 0 to 2: how far the lease is from its next renewal

        std::string describe() const {
            constexpr std::array verbs{"claim", "release", "cancel", "renewal", "first claim"};
            constexpr std::array troubles{"held and delivered late", "reply lost", "member silent",
                                          "overtaken by its repeat"};
            return std::string(verbs[static_cast<std::size_t>(during)]) + ", " +
                   troubles[static_cast<std::size_t>(befalls)] + ", lease " + std::to_string(lease.count()) +
                   " ms, phase " + std::to_string(phase);
        }
    };

    std::vector<verb> verbs{verb::claim, verb::release, verb::cancel, verb::renewal};
    std::vector<trouble> troubles{trouble::held, trouble::reply_lost, trouble::silent};
    std::vector<std::uint16_t> servers;                                          // one of them gets into trouble
    std::function<std::string(const std::vector<std::uint16_t>& ports)> url_at;  // through the proxies
    std::vector<std::chrono::milliseconds> leases;                               // around the store's timeouts
    std::chrono::milliseconds least_lease{};                                     // of the store
    std::chrono::milliseconds free_within{};                                     // whatever the lease; zero: by that
    std::chrono::milliseconds lasts{3000};                                       // the trouble
    bool connections_stand = false;  // when the trouble is over, and what was swallowed is missed by nobody
    std::size_t every = 1;           // runs only each so many of the cells

    std::vector<cell> cells() const {
        std::vector<cell> all;
        for (const verb during : verbs)
            for (const trouble befalls : troubles)
                for (const auto lease : leases)
                    for (int phase = 0; phase < 3; ++phase) all.push_back({during, befalls, lease, phase});
        return all;
    }

    // What went wrong, one line a cell. Empty: nothing.
    std::vector<std::string> run() const {
        const std::vector<cell> all = cells();
        std::vector<std::string> complaints;
        std::mutex mutex;
        std::atomic<std::size_t> next{0};
        {
            std::vector<std::jthread> crew;
            for (int n = 0; n < 27; ++n)
                crew.emplace_back([&] {
                    for (std::size_t i = next.fetch_add(every); i < all.size(); i = next.fetch_add(every)) {
                        std::string complaint;
                        try {
                            complaint = run(all[i], i);
                        } catch (const std::exception& e) {
                            complaint = e.what();
                        }
                        if (complaint.empty()) continue;
                        std::scoped_lock guard{mutex};
                        complaints.push_back(all[i].describe() + ": " + complaint);
                    }
                });
        }
        return complaints;
    }

private:
    using proxies = std::vector<std::unique_ptr<tcp_proxy>>;

    void begin(trouble what, tcp_proxy& way_there) const {
        if (what == trouble::overtaken) way_there.delay(way::to_server, lasts);
        if (what == trouble::held) way_there.freeze();
        if (what == trouble::reply_lost) way_there.swallow(way::to_client);
        if (what == trouble::silent) way_there.swallow(way::to_server);
    }
    void end(trouble what, tcp_proxy& way_there) const {
        if (what == trouble::overtaken) return way_there.delay(way::to_server, 0ms);  // what is on its way stays late
        if (what == trouble::held) return way_there.thaw();
        way_there.swallow(way::to_client, false);
        way_there.swallow(way::to_server, false);
        if (!connections_stand) way_there.cut();
    }

    std::string run(const cell& one, std::size_t number) const {
        proxies between;
        std::vector<std::uint16_t> ports;
        for (const std::uint16_t server : servers) {
            between.push_back(std::make_unique<tcp_proxy>(server));
            ports.push_back(between.back()->port());
        }
        const std::string name = "n" + std::to_string(number);
        client locks{url_at(ports), {.patience = 6s}};
        client others{url_at(servers)};
        // A busy machine may need longer to connect than the store's timeout allows.
        const hold kept = [&] {
            for (int tries = 0;; ++tries)
                if (attempt got = locks.try_acquire(name + "-kept", {.wait = 20s, .lease = one.lease});
                    got || tries == 5)
                    return *std::move(got);
        }();
        const auto used = std::ranges::find_if(between, [](const auto& each) { return each->connections() > 0; });
        tcp_proxy& bad = used != between.end() ? **used : *between.front();
        std::this_thread::sleep_for(between_renewals(one) * one.phase / 2);

        std::stop_source stop;
        hold mine;
        hold theirs;
        std::future<attempt> asked;
        const auto ask = [&](std::chrono::nanoseconds wait) {
            return std::async(std::launch::async, [&, wait] {
                return locks.try_acquire(name, {.wait = wait, .lease = one.lease, .stop = stop.get_token()});
            });
        };
        if (one.during == verb::release || one.during == verb::renewal)
            mine = locks.acquire(name, {.wait = 20s, .lease = one.lease});
        else if (one.during != verb::first_claim)
            theirs = others.acquire(name, {.wait = 20s});
        if (one.during == verb::cancel) {
            asked = ask(1h);
            if (!eventually([&] { return waits_for(others, name); })) return "it never came to wait";
        }
        const auto begun = std::chrono::steady_clock::now();
        begin(one.befalls, bad);
        if (one.during == verb::claim || one.during == verb::first_claim) asked = ask(0s);
        if (one.during == verb::cancel) stop.request_stop();
        std::jthread releases;  // it may wait for longer than the trouble lasts
        if (one.during == verb::release) releases = std::jthread{[&] { mine.release(); }};
        if (one.befalls == trouble::overtaken) {
            std::this_thread::sleep_for(300ms + (one.during == verb::renewal ? between_renewals(one) : 0ms));
            end(one.befalls, bad);
            if (asked.valid()) asked.wait_for(lasts);
            if (theirs.valid()) theirs.release();
            std::this_thread::sleep_until(begun + lasts + 500ms);
        } else {
            std::this_thread::sleep_for(lasts);
            if (theirs.valid()) theirs.release();
            end(one.befalls, bad);
        }
        if (releases.joinable()) releases.join();
        if (one.during == verb::renewal) mine.release();
        if (asked.valid())
            if (attempt got = asked.get()) got->release();

        // The bound is the lease and two seconds; the rest is for a busy machine.
        const auto bound = free_within > 0ms ? free_within : std::max(one.lease, least_lease) + 2s + 8s;
        if (const attempt got = others.try_acquire(name, {.wait = bound}); !got)
            return "nobody gets it: " + got.refusal().describe();
        const attempt again = locks.try_acquire(name, {.wait = bound});
        return again ? std::string{} : "its client does not get it: " + again.refusal().describe();
    }

    // Of a long lease that is more than a cell waits for.
    static std::chrono::milliseconds between_renewals(const cell& one) { return std::min(one.lease / 3, 2000ms); }

    static bool waits_for(client& looks, const std::string& name) {
        for (const held_lock& one : looks.list())
            if (one.name == name) return one.waiting > 0;
        return false;
    }
};

}  // namespace mortise::testing
