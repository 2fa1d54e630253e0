#include "checker/faults/faulty_store.hpp"

#include <string>
#include <utility>

namespace mortise::testing {

namespace {

// Requests with their text: the views of the originals end with the call, the journey does not.
struct owned_claim {
    spi::claim_request request;
    std::string name;
    std::string label;

    explicit owned_claim(const spi::claim_request& from) : request(from), name(from.name), label(from.label) {}

    spi::claim_request view() const {
        spi::claim_request seen = request;
        seen.name = name;
        seen.label = label;
        return seen;
    }
};

struct owned_renewal {
    std::string name;
    claim_id id;
    spi::duration lease;
    bool fails;
};

}  // namespace

faulty_store::faulty_store(const spi::context& outer, const spi::store_factory& make_inner,
                           std::shared_ptr<fault_plan> plan)
    : store_wrapper(outer, make_inner), plan_(std::move(plan)) {
    plan_->attach(gate_);
}

faulty_store::~faulty_store() {
    if (!closed_) faulty_store::close();
}

// The way there, the fault and the way back. `ask` puts the question to the inner store and may be called twice.
template <class Answer, class Ask>
void faulty_store::travel(verb v, fault what, Answer unknown, Ask ask, spi::reply<Answer> done) {
    if (what == fault::lose_request) return;

    auto answer = [this, v, what, unknown = std::move(unknown), done = std::move(done)](Answer said) mutable {
        if (what == fault::lose_reply) return;
        if (what == fault::fail || what == fault::fail_after) said = std::move(unknown);
        gate_->pass_after(clock(), plan_->delay_back(v),
                          [done = std::move(done), said = std::move(said)]() mutable { done(std::move(said)); });
    };
    if (what == fault::fail) return answer({});

    gate_->pass_after(clock(), plan_->delay_there(v),
                      [this, v, what, ask = std::move(ask), answer = std::move(answer)]() mutable {
                          plan_->arrive(v);
                          ask(std::move(answer));
                          if (what != fault::duplicate) return;
                          plan_->arrive(v);
                          ask([](Answer) {});
                      });
}

void faulty_store::claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) {
    const fault what = plan_->begin(verb::claim, {asked.id});
    travel(
        verb::claim, what, spi::claim_answer{},
        [this, mine = owned_claim(asked)](spi::reply<spi::claim_answer> answer) {
            inner().claim(mine.view(), std::move(answer));
        },
        std::move(done));
}

void faulty_store::renew(std::span<const spi::renewal> asked, spi::reply<std::vector<spi::renewal_answer>> done) {
    std::vector<claim_id> ids;
    std::vector<owned_renewal> mine;
    for (const auto& one : asked) {
        std::string name{one.name};
        const bool fails = plan_->renewal_fails(name);
        ids.push_back(one.id);
        mine.push_back({std::move(name), one.id, one.lease, fails});
    }
    using answers = std::vector<spi::renewal_answer>;
    const answers unknown(mine.size(), spi::renewal_answer::unknown);

    auto ask = [this, mine = std::move(mine), unknown](spi::reply<answers> answer) {
        std::vector<spi::renewal> passed;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < mine.size(); ++i) {
            if (mine[i].fails) continue;
            passed.push_back({.name = mine[i].name, .id = mine[i].id, .lease = mine[i].lease});
            places.push_back(i);
        }
        if (passed.empty()) return answer(unknown);
        inner().renew(passed, [places = std::move(places), all = unknown,
                               answer = std::move(answer)](const answers& said) mutable {
            for (std::size_t i = 0; i < said.size() && i < places.size(); ++i) all[places[i]] = said[i];
            answer(std::move(all));
        });
    };
    travel(verb::renew, plan_->begin(verb::renew, ids), unknown, std::move(ask), std::move(done));
}

void faulty_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    const fault what = plan_->begin(verb::release, {id});
    travel(
        verb::release, what, spi::release_answer::unknown,
        [this, name = std::string{name}, id](spi::reply<spi::release_answer> answer) {
            inner().release(name, id, std::move(answer));
        },
        std::move(done));
}

// The verbs of the toolbox only freeze.
void faulty_store::list(spi::reply<spi::listing> done) {
    gate_->pass([this, done = std::move(done)]() mutable {
        inner().list([this, done = std::move(done)](spi::listing said) mutable {
            gate_->pass([done = std::move(done), said = std::move(said)]() mutable { done(std::move(said)); });
        });
    });
}

void faulty_store::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    gate_->pass([this, name = std::string{which.name}, counter = which.counter, note = std::string{which.note},
                 done = std::move(done)]() mutable {
        inner().break_hold({name, counter, note}, [this, done = std::move(done)](spi::break_answer said) mutable {
            gate_->pass([done = std::move(done), said]() mutable { done(said); });
        });
    });
}

void faulty_store::raise_token(const spi::raise_request& which, spi::reply<spi::raise_answer> done) {
    travel(
        verb::raise, plan_->begin(verb::raise, {which.id}), spi::raise_answer{},
        [this, which, name = std::string{which.name}](spi::reply<spi::raise_answer> answer) {
            inner().raise_token({name, which.id, which.to, which.version}, std::move(answer));
        },
        std::move(done));
}

void faulty_store::recall_tokens(const spi::recall_request& asked, spi::reply<std::optional<spi::token_memory>> done) {
    travel(
        verb::raise, plan_->begin(verb::raise, {asked.version}), std::optional<spi::token_memory>{},
        [this, asked](spi::reply<std::optional<spi::token_memory>> answer) {
            inner().recall_tokens(asked, std::move(answer));
        },
        std::move(done));
}

// First the gate: a delayed request must not meet a store that is closing.
void faulty_store::close() noexcept {
    closed_ = true;
    gate_->shut();
    store_wrapper::close();
}

template <class Deliver>
void faulty_store::push(const claim_id& id, Deliver deliver) {
    const fault what = plan_->begin(verb::push, {id});
    if (what != fault::none && what != fault::duplicate) return;
    for (int times = what == fault::duplicate ? 2 : 1; times > 0; --times) {
        gate_->pass_after(clock(), plan_->delay_there(verb::push), [this, deliver] {
            plan_->arrive(verb::push);
            deliver();
        });
    }
}

void faulty_store::granted(std::string_view name, const claim_id& id, const spi::grant& what) {
    push(id, [this, name = std::string{name}, id, what] { store_wrapper::granted(name, id, what); });
}

void faulty_store::lost(std::string_view name, const claim_id& id) {
    push(id, [this, name = std::string{name}, id] { store_wrapper::lost(name, id); });
}

void faulty_store::wanted(std::string_view name, const claim_id& id) {
    push(id, [this, name = std::string{name}, id] { store_wrapper::wanted(name, id); });
}

spi::store_factory faulty(spi::store_factory inner, std::shared_ptr<fault_plan> plan) {
    return [inner = std::move(inner), plan = std::move(plan)](const spi::context& outer) {
        return std::make_unique<faulty_store>(outer, inner, plan);
    };
}

}  // namespace mortise::testing
