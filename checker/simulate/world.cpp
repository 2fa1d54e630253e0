#include "checker/simulate/world.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::simulation {

using namespace std::chrono_literals;

void trace::note(spi::time_point at, std::string_view what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const auto mix = [&](std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3u; };
    mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
    for (const char letter : what) mix(static_cast<unsigned char>(letter));
    mix(a);
    mix(b);
    mix(c);
    if (!keeps_) return;
    lines_ += std::to_string(static_cast<double>(at.time_since_epoch().count() / 1000) / 1000.0) + " ms  ";
    for (std::uint64_t each[] = {a, b, c}, *next = each; const char letter : what)
        lines_ += letter == '#' ? std::to_string(*next++) : std::string(1, letter);
    lines_ += '\n';
}

namespace {

// The client's end of the wire. Requests carry copies of all they have.
class far_store final : public spi::store {
public:
    far_store(world& in, unsigned client, const spi::context& of) : world_(in), client_(client), context_(of) {
        world_.at(client_).store = this;
    }
    ~far_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        struct copy {
            std::string name, label;
            spi::claim_request request;
            spi::reply<spi::claim_answer> done;
        };
        const auto kept =
            std::make_shared<copy>(copy{std::string(wanted.name), std::string(wanted.label), wanted, std::move(done)});
        kept->request.name = kept->name;
        kept->request.label = kept->label;
        const spi::time_point sent = context_.clock.now();
        ask([this, kept, sent] {
            world_.notes().note(world_.now(), "client # asks for claim #", client_, world_.number_of(kept->request.id));
            auto answer = world_.claim(client_, kept->request);
            reply([this, kept, sent, answer, then = world_.now()]() mutable {
                if (answer.is == spi::claim_answer::verdict::queued) heard_[kept->request.id] = {sent, then};
                // A repeat is told of a grant that may be old.
                answer.grant.counted_from =
                    sent - std::chrono::duration_cast<spi::duration>((then - answer.grant.counted_from) * 1.01);
                if (kept->done) std::exchange(kept->done, nullptr)(std::move(answer));
            });
        });
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        struct one {
            std::string name;
            claim_id id;
            spi::duration lease;
        };
        std::vector<one> all;
        for (const auto& each : due) all.push_back({std::string(each.name), each.id, each.lease});
        const auto kept = std::make_shared<spi::reply<std::vector<spi::renewal_answer>>>(std::move(done));
        ask([this, all, kept] {
            std::vector<spi::renewal_answer> answers;
            for (const one& each : all) answers.push_back(world_.renew(each.name, each.id, each.lease));
            reply([kept, answers] {
                if (*kept) std::exchange(*kept, nullptr)(answers);
            });
        });
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        const auto kept = std::make_shared<spi::reply<spi::release_answer>>(std::move(done));
        ask([this, of = std::string(name), id, kept] {
            const auto answer = world_.release(client_, of, id);
            world_.notes().note(world_.now(), "client # releases claim #: #", client_, world_.number_of(id),
                                static_cast<std::uint64_t>(answer));
            reply([kept, answer] {
                if (*kept) std::exchange(*kept, nullptr)(answer);
            });
        });
    }
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease;
    }
    void list(spi::reply<spi::listing> done) override { done({}); }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer> done) override {
        done(spi::break_answer::unsupported);
    }
    void close() noexcept override {
        *open_ = false;
        world_.at(client_).store = nullptr;
    }

    // A pushed grant, made at `then` by the server's clock (design rule: from a request that was answered, never from receipt).
    void pushed(const std::string& name, const claim_id& id, spi::grant given, spi::time_point then) {
        const spi::time_point received = context_.clock.now();
        const auto at = heard_.find(id);
        if (at == heard_.end()) return;  // no answer to count from: the next look will tell
        const auto since = std::chrono::duration_cast<spi::duration>((then - at->second.second) * 0.99);
        given.counted_from = std::min(at->second.first + since, received);
        if (world_.with() == flaw::counts_from_receipt) given.counted_from = received;
        context_.events.granted(name, id, given);
    }

private:
    // The store may be gone, and its client with it, by the time that something arrives.
    void ask(std::function<void()> what) {
        world_.to_server(client_, [open = open_, what = std::move(what)] {
            if (*open) what();
        });
    }
    void reply(std::function<void()> what) {
        world_.to_client(client_, [open = open_, what = std::move(what)] {
            if (*open) what();
        });
    }

    world& world_;
    const unsigned client_;
    const spi::context context_;
    const mortise::promises promises_{.store = "simulated",
                                      .tokens = true,
                                      .fifo = true,
                                      .detached = true,
                                      .leases = true,
                                      .pushes = true,
                                      .most_capacity = 1u << 20,
                                      .default_lease = 2s};
    const std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
    std::map<claim_id, std::pair<spi::time_point, spi::time_point>> heard_;  // sent here, answered there
};

}  // namespace

world::world(const plan& of, flaw with, trace& into)
    : plan_(of), flaw_(with), trace_(into), dice_(~of.seed), machines_(of.clients) {
    for (unsigned i = 0; i < of.clients; ++i) {
        machines_[i].rate = of.rates[i];
        machines_[i].clock = std::make_shared<testing::sim_clock>(spi::time_point{std::chrono::hours{1 + i}});
    }
}

world::~world() {
    for (machine& each : machines_) {
        each.notifier->drop();
        each.clock->drop();
    }
}

void world::at_time(spi::time_point when, std::function<void()> what) {
    events_.emplace(std::pair{std::max(when, now_), ++made_}, std::move(what));
}

void world::on(unsigned client, spi::time_point when, std::function<void()> what) {
    at_time(when, [this, client, what = std::move(what)]() mutable {
        machine& here = machines_[client];
        if (here.dead) return;
        if (now_ < here.paused_until) return on(client, here.paused_until, std::move(what));
        wake(client);
        what();
        wake(client);
    });
}

void world::catch_up(unsigned client) {
    machine& here = machines_[client];
    const auto passed = std::chrono::duration_cast<spi::duration>((now_ - spi::time_point{10s}) * here.rate);
    const spi::time_point local = spi::time_point{std::chrono::hours{1 + client}} + passed;
    if (local > here.clock->now()) here.clock->jump(local - here.clock->now());
}

void world::wake(unsigned client) {
    catch_up(client);
    machine& here = machines_[client];
    do {
        here.clock->run_due();
    } while (here.notifier->run() > 0);
}

bool world::step(spi::time_point end) {
    // The first of all events and timers; a timer of a paused client is late.
    spi::time_point first = events_.empty() ? spi::time_point::max() : events_.begin()->first.first;
    std::optional<unsigned> whose;
    for (unsigned i = 0; i < machines_.size(); ++i) {
        machine& here = machines_[i];
        const auto next = here.dead ? std::nullopt : here.clock->next();
        if (!next) continue;
        const auto passed =
            std::chrono::duration_cast<spi::duration>((*next - spi::time_point{std::chrono::hours{1 + i}}) / here.rate);
        const spi::time_point due = std::max({spi::time_point{10s} + passed + 1us, here.paused_until, now_});
        if (due < first) first = due, whose = i;
    }
    if (first > end) {
        now_ = end;
        return false;
    }
    now_ = std::max(now_, first);
    if (whose) {
        wake(*whose);
    } else {
        auto what = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        what();
    }
    return true;
}

spi::duration world::delay() {
    const auto most = !calm_ && dice_.chance(plan_.delays) ? plan_.long_delay : plan_.usual_delay;
    return dice_.between(1us, most);
}

void world::to_server(unsigned from, std::function<void()> arrives) {
    const machine& here = machines_[from];
    if (here.dead || (!calm_ && (now_ < here.cut_until || dice_.chance(plan_.loses)))) return;
    const bool twice = !calm_ && dice_.chance(plan_.doubles);
    const auto deliver = [this, from, arrives = std::move(arrives)] {
        if (now_ < machines_[from].cut_until) return;
        arrives();
    };
    for (int copies = twice ? 2 : 1; copies > 0; --copies)
        in(delay(), [this, deliver] {
            if (now_ < frozen_until_) return at_time(frozen_until_, deliver);
            deliver();
        });
}

void world::to_client(unsigned to, std::function<void()> arrives) {
    if (!calm_ && (now_ < machines_[to].cut_until || dice_.chance(plan_.loses))) return;
    const bool twice = !calm_ && dice_.chance(plan_.doubles);
    for (int copies = twice ? 2 : 1; copies > 0; --copies)
        on(to, now_ + delay(), [this, to, arrives] {
            if (now_ >= machines_[to].cut_until) arrives();
        });
}

spi::store_factory world::store_of(unsigned client) {
    return [this, client](const spi::context& of) { return std::make_unique<far_store>(*this, client, of); };
}

base::instant world::instant() const {
    return {now_, static_cast<std::uint64_t>(now_.time_since_epoch() / 1us)};
}

std::uint64_t world::number_of(const claim_id& id) {
    return ids_.emplace(id, ids_.size() + 1).first->second;
}

spi::claim_answer world::claim(unsigned client, const spi::claim_request& wanted) {
    static const auto nowhere = std::make_shared<const base::whereabouts>();
    const std::string of{wanted.name};
    base::kept_claim kept = base::kept_claim::of(wanted, client + 1, nowhere);
    if (flaw_ == flaw::expires_early && kept.lease) *kept.lease = *kept.lease * 3 / 4;
    base::effects out;
    const spi::duration lease = wanted.lease.value_or(2s);
    base::verdict said = name(of).claim(std::move(kept), wanted.capacity, wanted.queue, instant(), out);
    if (flaw_ == flaw::forgets_the_name && said.is == spi::claim_answer::verdict::refused &&
        said.reason == errc::cancelled) {
        names_.erase(of);
        return claim(client, wanted);
    }
    push(of, out);
    look_again(of);
    spi::claim_answer answer = std::move(said).answer(wanted);
    if (flaw_ == flaw::repeats_tokens) answer.grant.counter = 1;
    if (answer.grant.lease) answer.grant.lease = lease;
    return answer;
}

spi::renewal_answer world::renew(const std::string& of, const claim_id& id, spi::duration lease) {
    base::effects out;
    if (flaw_ == flaw::expires_early) lease = lease * 3 / 4;
    const auto answer = name(of).renew(id, lease, instant(), out);
    push(of, out);
    look_again(of);
    return answer;
}

spi::release_answer world::release(unsigned client, const std::string& of, const claim_id& id) {
    base::effects out;
    base::lock_state& state = name(of);
    auto answer = state.release(id, client + 1, instant(), out);
    if (flaw_ == flaw::deletes_whatever && answer != spi::release_answer::released && !state.holders().empty())
        answer = state.release(claim_id{state.holders().front().id}, state.holders().front().session, instant(), out);
    push(of, out);
    look_again(of);
    return answer;
}

void world::settle(const std::string& of) {
    if (now_ < frozen_until_) return at_time(frozen_until_, [this, of] { settle(of); });
    base::effects out;
    name(of).settle(instant(), out);
    push(of, out);
    look_again(of);
}

void world::push(const std::string& of, const base::effects& what) {
    for (const auto& one : what.granted) {
        const unsigned to = static_cast<unsigned>(one.session) - 1;
        trace_.note(now_, "the server grants claim # to client #, counter #", number_of(one.id), to, one.grant.counter);
        auto given = one.grant;
        if (flaw_ == flaw::expires_early && given.lease) *given.lease = *given.lease * 4 / 3;
        if (flaw_ == flaw::repeats_tokens) given.counter = 1;
        to_client(to, [this, to, of, id = one.id, given, then = now_] {
            if (auto* const store = machines_[to].store) static_cast<far_store*>(store)->pushed(of, id, given, then);
        });
    }
}

// Leases end on time, also if nobody asks.
void world::look_again(const std::string& of) {
    const spi::time_point end = name(of).next_end();
    auto& known = looks_[of];
    if (end == spi::time_point::max() || (known >= now_ && known <= end && known != spi::time_point{})) return;
    known = end;
    at_time(end, [this, of, end] {
        if (looks_[of] == end) looks_[of] = {};
        settle(of);
    });
}

bool world::empty() const {
    return std::all_of(names_.begin(), names_.end(), [](const auto& one) { return one.second.idle(); });
}

}  // namespace mortise::simulation
