#include "checker/simulate/simulation.hpp"

#include "checker/simulate/world.hpp"

#include <mortise/client.hpp>
#include <mortise/fenced.hpp>
#include <mortise/spi/client.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace mortise::simulation {

using namespace std::chrono_literals;

namespace {

class simulated_run {
public:
    simulated_run(const plan& of, flaw with, bool keep_lines)
        : plan_(of), trace_(keep_lines), world_(of, with, trace_), names_(of.names.size()), calls_(of.calls.size()) {
        for (unsigned i = 0; i < of.clients; ++i)
            clients_.push_back(std::make_unique<client>(
                spi::make_client(world_.store_of(i), {.clock = world_.at(i).clock, .notifier = world_.at(i).notifier},
                                 {.label = "simulated", .release_wait = {}, .close_wait = {}})));
    }

    outcome judge() {
        spi::time_point over = world_.now();
        for (std::size_t i = 0; i < plan_.calls.size(); ++i) {
            over = std::max(over, plan_.calls[i].at);
            world_.on(plan_.calls[i].client, plan_.calls[i].at, [this, i] { begin(i); });
        }
        for (const fault& each : plan_.faults) {
            over = std::max(over, each.at + each.lasts);
            world_.at_time(each.at, [this, &each] { strike(each); });
        }
        world_.at_time(over + 1s, [this] { world_.calm(); });
        const spi::time_point end = over + 300s;
        for (unsigned long steps = 0; !result_.violation && world_.step(end); ++steps) {
            look();
            if (steps > 200'000) fail("it does not come to rest");
        }
        if (!result_.violation) look_at_the_end();
        result_.hash = trace_.hash();
        result_.lines = trace_.lines();
        for (one_call& each : calls_) each.held = {};
        clients_.clear();
        return std::move(result_);
    }

private:
    struct one_call {
        bool begun = false;
        int answers = 0;
        token before{};  // the largest of those that this one must exceed
        hold held{};
        bool holds = false;
        int seen = 0;
        bool sealed = false;
    };
    struct name_record {
        token largest{}, largest_of_all_weight{};
        fenced::register_of<int> resource{0};
        int accepted = 0;
    };

    void fail(const std::string& what) {
        if (!result_.violation) result_.violation = what;
    }
    static std::string text(unsigned name) { return "name" + std::to_string(name); }
    bool alone(std::size_t i) const { return plan_.calls[i].weight == plan_.names[plan_.calls[i].name]; }

    void begin(std::size_t i) {
        const call& wanted = plan_.calls[i];
        one_call& mine = calls_[i];
        name_record& of = names_[wanted.name];
        mine.begun = true;
        mine.before = alone(i) ? of.largest : of.largest_of_all_weight;
        trace_.note(world_.now(), "client # calls #", wanted.client, i);
        claim_options how{.wait = wanted.wait,
                          .lease = wanted.lease,
                          .renew = wanted.renewed ? renew::on : renew::off,
                          .hand_over = wanted.hand_over ? hand_over::on : hand_over::off};
        clients_[wanted.client]->start(
            {.name = text(wanted.name), .capacity = plan_.names[wanted.name], .weight = wanted.weight, .options = how},
            [this, i](attempt got) { answered(i, std::move(got)); });
    }

    void answered(std::size_t i, attempt got) {
        const call& wanted = plan_.calls[i];
        one_call& mine = calls_[i];
        if (world_.at(wanted.client).dead) return;
        if (++mine.answers > 1) fail("call " + std::to_string(i) + " is answered twice");
        if (!got) {
            ++result_.refused;
            trace_.note(world_.now(), "call # of client # is refused: #", i, wanted.client,
                        static_cast<std::uint64_t>(got.reason().value()));
            return;
        }
        ++result_.grants;
        mine.held = *std::move(got);
        mine.holds = true;
        const token mark = mine.held.token();
        if (mark.value() % 1024 != 0) ++result_.handed_over;
        trace_.note(world_.now(), "call # of client # is granted, token #", i, wanted.client, mark.value());
        if (mark <= mine.before) fail("the token of call " + std::to_string(i) + " is not larger than one before it");
        name_record& of = names_[wanted.name];
        of.largest = std::max(of.largest, mark);
        if (alone(i)) {
            of.largest_of_all_weight = std::max(of.largest_of_all_weight, mark);
            mine.sealed = of.resource.seal(mark);
            if (mine.sealed) mine.seen = of.resource.read(mark).value_or(0);
            world_.on(wanted.client, world_.now() + wanted.holds / 2, [this, i] { write(i); });
        }
        world_.on(wanted.client, world_.now() + wanted.holds, [this, i] { let_go(i); });
    }

    void write(std::size_t i) {
        one_call& mine = calls_[i];
        name_record& of = names_[plan_.calls[i].name];
        if (!mine.holds || !mine.sealed) return;
        if (of.resource.write(mine.held.token(), mine.seen + 1)) {
            ++of.accepted;
            if (!mine.held.valid()) ++result_.late_writes;
            if (of.resource.peek() != of.accepted)
                fail("an update of name " + std::to_string(plan_.calls[i].name) + " is lost");
        }
    }

    void let_go(std::size_t i) {
        one_call& mine = calls_[i];
        if (!mine.holds) return;
        mine.holds = false;
        const bool valid = mine.held.valid();
        if (!valid) ++result_.lost;
        trace_.note(world_.now(), "call # of client # releases, valid #", i, plan_.calls[i].client, valid ? 1 : 0);
        mine.held = {};
    }

    void strike(const fault& what) {
        machine& here = world_.at(what.client);
        trace_.note(world_.now(), "fault # strikes client #", static_cast<std::uint64_t>(what.is), what.client);
        switch (what.is) {
            case fault::kind::pause:
                here.paused_until = std::max(here.paused_until, world_.now() + what.lasts);
                break;
            case fault::kind::cut:
                here.cut_until = std::max(here.cut_until, world_.now() + what.lasts);
                break;
            case fault::kind::freeze:
                world_.freeze_until(world_.now() + what.lasts);
                break;
            case fault::kind::kill:
                if (here.dead) return;
                here.dead = true;
                for (std::size_t i = 0; i < calls_.size(); ++i)
                    if (plan_.calls[i].client == what.client) {
                        calls_[i].holds = false;
                        calls_[i].held = {};
                    }
                clients_[what.client].reset();
        }
    }

    void look() {
        for (unsigned i = 0; i < plan_.clients; ++i) world_.catch_up(i);
        for (unsigned name = 0; name < names_.size(); ++name) {
            std::uint64_t weight = 0;
            for (std::size_t i = 0; i < calls_.size(); ++i)
                if (plan_.calls[i].name == name && calls_[i].holds && calls_[i].held.valid())
                    weight += plan_.calls[i].weight;
            if (weight > plan_.names[name]) fail("name " + std::to_string(name) + " has too many valid holders");
        }
    }

    void look_at_the_end() {
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (calls_[i].begun && calls_[i].answers != 1 && !world_.at(plan_.calls[i].client).dead)
                fail("call " + std::to_string(i) + " is never answered");
        if (!world_.empty()) fail("a claim is left at the server");
    }

    const plan& plan_;
    trace trace_;
    world world_;
    std::vector<name_record> names_;
    std::vector<one_call> calls_;
    std::vector<std::unique_ptr<client>> clients_;
    outcome result_;
};

// Takes out what is not needed, half of it at a time, then less.
template <class Part, class Breaks>
void without_needless(plan& of, std::vector<Part> plan::*parts, const Breaks& breaks) {
    for (std::size_t size = std::max<std::size_t>((of.*parts).size() / 2, 1); size > 0; size /= 2)
        for (std::size_t from = 0; from < (of.*parts).size();) {
            plan smaller = of;
            auto& left = smaller.*parts;
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(from),
                       left.begin() + static_cast<std::ptrdiff_t>(std::min(from + size, left.size())));
            if (breaks(smaller)) {
                of = std::move(smaller);
            } else {
                from += size;
            }
        }
}

}  // namespace

outcome run(const plan& of, flaw with, bool keep_lines) {
    simulated_run one{of, with, keep_lines};
    return one.judge();
}

plan shrunk(plan of, flaw with, const std::function<bool(const plan&, flaw)>& judge) {
    const auto breaks = [&](const plan& one) { return judge(one, with); };
    for (std::size_t before = SIZE_MAX; of.calls.size() + of.faults.size() < before;) {
        before = of.calls.size() + of.faults.size();
        without_needless(of, &plan::faults, breaks);
        without_needless(of, &plan::calls, breaks);
        for (double plan::*each : {&plan::loses, &plan::doubles, &plan::delays}) {
            plan smaller = of;
            smaller.*each = 0;
            if (breaks(smaller)) of = std::move(smaller);
        }
    }
    return of;
}

}  // namespace mortise::simulation
