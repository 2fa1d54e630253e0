// Time, the network and the server of a simulated run.
//
// There is one true time. Events happen in its order, and in the order they were made where times are equal. The server's clock is
// the true time; each client has its own, which runs at its own rate. Messages take their time, and are lost, doubled and overtaken.
// A paused client does nothing until the pause is over; a frozen server neither.
#pragma once

#include "base/lock_state.hpp"
#include "checker/sim/manual_notifier.hpp"
#include "checker/sim/sim_clock.hpp"
#include "checker/simulate/dice.hpp"
#include "checker/simulate/plan.hpp"

#include <mortise/spi/store.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::simulation {

// What happened, as a number that is the same if all of it is; and as lines, if they are wanted.
class trace {
public:
    explicit trace(bool keeps) : keeps_(keeps) {}
    void note(spi::time_point at, std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);
    std::uint64_t hash() const noexcept { return hash_; }
    const std::string& lines() const noexcept { return lines_; }

private:
    const bool keeps_;
    std::uint64_t hash_ = 0xcbf29ce484222325u;
    std::string lines_;
};

class world;

// One client's machine: its clock, and its way to the server.
struct machine {
    std::shared_ptr<testing::sim_clock> clock;
    std::shared_ptr<testing::manual_notifier> notifier = std::make_shared<testing::manual_notifier>();
    double rate = 1;
    bool dead = false;
    spi::time_point paused_until{}, cut_until{};
    spi::store* store = nullptr;  // of its client, while it has one
};

class world {
public:
    world(const plan& of, flaw with, trace& into);
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world();

    spi::time_point now() const noexcept { return now_; }
    machine& at(unsigned client) { return machines_[client]; }
    void in(spi::duration after, std::function<void()> what) { at_time(now_ + after, std::move(what)); }
    void at_time(spi::time_point when, std::function<void()> what);
    // On the client's machine: not while it is paused, and never once it is dead.
    void on(unsigned client, spi::time_point when, std::function<void()> what);
    void freeze_until(spi::time_point until) { frozen_until_ = std::max(frozen_until_, until); }

    // The next event. False: there is none up to `end`.
    bool step(spi::time_point end);
    void catch_up(unsigned client);  // its clock shows the time
    void wake(unsigned client);      // and runs what is due

    // The network. A message that is lost is never run.
    void to_server(unsigned from, std::function<void()> arrives);
    void to_client(unsigned to, std::function<void()> arrives);
    void calm() { calm_ = true; }  // from now on nothing goes wrong

    spi::store_factory store_of(unsigned client);

    // The server.
    base::lock_state& name(std::string_view of) { return names_[std::string(of)]; }
    spi::claim_answer claim(unsigned client, const spi::claim_request& wanted);
    spi::renewal_answer renew(const std::string& of, const claim_id& id, spi::duration lease);
    spi::release_answer release(unsigned client, const std::string& of, const claim_id& id);
    bool empty() const;
    flaw with() const noexcept { return flaw_; }

    trace& notes() noexcept { return trace_; }
    std::uint64_t number_of(const claim_id& id);  // small and in order of appearance, for the trace

private:
    spi::duration delay();
    void settle(const std::string& of);
    void push(const std::string& of, const base::effects& what);
    void look_again(const std::string& of);
    base::instant instant() const;

    const plan& plan_;
    const flaw flaw_;
    trace& trace_;
    dice dice_;
    spi::time_point now_{std::chrono::seconds{10}};
    spi::time_point frozen_until_{};
    bool calm_ = false;
    std::uint64_t made_ = 0;
    std::map<std::pair<spi::time_point, std::uint64_t>, std::function<void()>> events_;
    std::vector<machine> machines_;
    std::map<std::string, base::lock_state> names_;
    std::map<std::string, spi::time_point> looks_;
    std::map<claim_id, std::uint64_t> ids_;
};

}  // namespace mortise::simulation
