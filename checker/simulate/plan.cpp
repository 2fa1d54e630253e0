#include "checker/simulate/plan.hpp"

#include "checker/simulate/dice.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace mortise::simulation {

using namespace std::chrono_literals;

namespace {

std::string shown(spi::duration d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(d).count() / 1000.0) + " ms";
}

call one_call(dice& roll, const plan& of, spi::time_point at) {
    const unsigned name = roll.below(static_cast<unsigned>(of.names.size()));
    const std::uint32_t capacity = of.names[name];
    call made{.at = at, .client = roll.below(of.clients), .name = name};
    made.weight = capacity == 1 || roll.one_in(3) ? capacity : 1;
    made.lease = roll.one_in(4) ? 500ms : 2s;
    if (!roll.one_in(3)) made.wait = roll.one_in(3) ? spi::duration{0} : roll.between(10ms, 8s);
    made.holds = roll.one_in(4) ? roll.between(0ms, 5s) : roll.between(0ms, 200ms);
    made.renewed = !roll.one_in(5);
    made.hand_over = !roll.one_in(4);
    return made;
}

}  // namespace

plan plan_of(std::uint64_t seed) {
    dice roll{seed};
    plan made{.seed = seed, .clients = 2 + roll.below(3)};
    // The default of client_options::drift is 1 %: no two clocks are further apart.
    for (unsigned i = 0; i < made.clients; ++i) made.rates.push_back(0.995 + 0.0001 * roll.below(101));
    made.names.push_back(1);
    if (roll.one_in(2)) made.names.push_back(3);
    const bool calm = roll.one_in(5);
    made.loses = calm ? 0 : 0.01 * roll.below(16);
    made.doubles = calm ? 0 : 0.01 * roll.below(11);
    made.delays = calm ? 0 : 0.01 * roll.below(11);
    made.usual_delay = roll.between(10us, 5ms);
    made.long_delay = roll.between(50ms, 4s);
    const unsigned calls = 4 + roll.below(16);
    spi::time_point at{10s};
    for (unsigned i = 0; i < calls; ++i) {
        at += roll.one_in(3) ? spi::duration{0} : roll.between(0ms, 600ms);
        made.calls.push_back(one_call(roll, made, at));
    }
    for (unsigned i = calm ? 0 : roll.below(6); i > 0; --i) {
        fault one{.at = spi::time_point{10s} + roll.between(0ms, at - spi::time_point{10s} + 2s)};
        one.is = std::vector{fault::kind::kill, fault::kind::pause, fault::kind::pause, fault::kind::cut,
                             fault::kind::freeze}[roll.below(5)];
        one.client = roll.below(made.clients);
        one.lasts = roll.between(10ms, 6s);
        made.faults.push_back(one);
    }
    std::stable_sort(made.faults.begin(), made.faults.end(),
                     [](const fault& a, const fault& b) { return a.at < b.at; });
    return made;
}

std::string describe(const plan& of) {
    static constexpr const char* kinds[] = {"kill", "pause", "cut", "freeze"};
    std::ostringstream out;
    out << "seed " << of.seed << ": " << of.clients << " clients, " << of.calls.size() << " calls, " << of.faults.size()
        << " faults; of the messages " << of.loses * 100 << " % are lost, " << of.doubles * 100 << " % doubled, "
        << of.delays * 100 << " % up to " << shown(of.long_delay) << " late\n";
    for (const call& c : of.calls)
        out << "  " << shown(c.at.time_since_epoch()) << "  client " << c.client << " wants name " << c.name << " ("
            << c.weight << " of " << of.names[c.name] << "), lease " << shown(c.lease) << (c.renewed ? "" : " fixed")
            << ", waits " << (c.wait ? shown(*c.wait) : "for ever") << ", holds " << shown(c.holds)
            << (c.hand_over ? "" : ", alone") << '\n';
    for (const fault& f : of.faults)
        out << "  " << shown(f.at.time_since_epoch()) << "  " << kinds[static_cast<int>(f.is)]
            << (f.is == fault::kind::freeze ? std::string{" the server"} : " client " + std::to_string(f.client))
            << " for " << shown(f.lasts) << '\n';
    return out.str();
}

}  // namespace mortise::simulation
