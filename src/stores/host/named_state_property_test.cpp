// The state of a name in the ledger: the same random histories as for the one in memory (histories_of_kinds.hpp).
//
// A failing history prints its seed and its steps; MORTISE_TEST_SEED=<seed> runs it alone.
#include "base/histories_of_kinds.hpp"
#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using mortise::testing::scale;
using mortise::testing::scratch_directory;

// Each verb takes the ledger, does its work and leaves, as the store does.
class shared_state {
    template <class Verb>
    auto with(Verb&& verb) {
        ledger_access in{in_};
        named_state state{in, name_};
        auto said = verb(state);
        state.finish();
        return said;
    }

public:
    shared_state(ledger& in, std::string name) : in_(in), name_(std::move(name)) {}
    ~shared_state() {
        base::effects ignored;
        for (std::uint64_t session = 0; session < 5; ++session) drop_session(session, base::instant{}, ignored);
        while (!idle())
            for (const base::kept_claim& held : holders()) break_hold(held.counter, base::instant{}, ignored);
    }

    base::verdict claim(const base::kept_claim& c, std::uint32_t capacity, bool queue, base::instant at,
                        base::effects& out) {
        return with([&](named_state& s) { return s.claim(c, capacity, queue, at, out); });
    }
    auto renew(const claim_id& id, spi::duration lease, base::instant at, base::effects& out) {
        return with([&](named_state& s) { return s.renew(id, lease, at, out); });
    }
    auto release(const claim_id& id, std::uint64_t by, base::instant at, base::effects& out) {
        return with([&](named_state& s) { return s.release(id, by, at, out); });
    }
    bool break_hold(std::uint64_t counter, base::instant at, base::effects& out) {
        return with([&](named_state& s) { return s.break_hold(counter, at, out); });
    }
    void drop_session(std::uint64_t session, base::instant at, base::effects& out) {
        with([&](named_state& s) { return s.drop_session(session, at, out), 0; });
    }
    void settle(base::instant at, base::effects& out) {
        with([&](named_state& s) { return s.settle(at, out), 0; });
    }

    std::vector<base::kept_claim> holders() {
        return with([&](named_state& s) {
            std::vector<base::kept_claim> all;
            for (block_number n = s.first_holder(); n != 0; n = s.after(n)) all.push_back(s.at(n));
            return all;
        });
    }
    base::kept_claim first_waiting() {
        return with([&](named_state& s) { return s.at(s.first_in_queue()); });
    }
    std::size_t waiting() {
        return with([&](named_state& s) { return s.waiting(); });
    }
    std::uint32_t capacity() {
        return with([&](named_state& s) { return s.capacity(); });
    }
    std::uint64_t last_counter() {
        return with([&](named_state& s) { return s.last_counter(); });
    }
    spi::time_point next_end() {
        return with([&](named_state& s) { return s.next_end(); });
    }
    bool idle() {
        return with([&](named_state& s) { return s.idle(); });
    }

private:
    ledger& in_;
    const std::string name_;
};

class in_a_ledger : public ::testing::Test {
protected:
    std::shared_ptr<ledger> open() const { return open_ledger({scratch_.path(), true}); }
    scratch_directory scratch_;
};

namespace histories = mortise::testing::histories;

constexpr std::size_t remembers = 1000;  // at least; many more than a history has

class named_state_property : public in_a_ledger, public ::testing::WithParamInterface<histories::kind> {};

TEST_P(named_state_property, agrees_with_the_naive_model_in_every_history) {
    const auto kept = open();
    int made = 0;
    const auto in_file = [&](int which) {
        if (made++ % 300 == 0) {
            EXPECT_EQ(kept->blocks_in_use(), 0u);
            EXPECT_EQ(find_damage(*kept), "");
        }
        return shared_state{*kept, "name " + std::to_string(which + made % 3)};
    };
    const std::uint64_t count = scale(GetParam() == histories::kind::any ? 25'000 : 100'000);
    histories::expect_agreement(GetParam(), "host", count, in_file, remembers);
    EXPECT_EQ(kept->blocks_in_use(), 0u);
    EXPECT_EQ(find_damage(*kept), "");
}
INSTANTIATE_TEST_SUITE_P(host, named_state_property, ::testing::ValuesIn(histories::every_kind),
                         [](const auto& one) { return std::string(histories::name_of(one.param)); });

class flawed_model_of_the_file : public in_a_ledger, public ::testing::WithParamInterface<histories::conviction> {};

TEST_P(flawed_model_of_the_file, is_convicted) {
    const auto kept = open();
    const auto in_file = [&](int which) { return shared_state{*kept, "name " + std::to_string(which)}; };
    histories::expect_conviction(GetParam().of, GetParam().wrong.which, in_file, remembers);
}
INSTANTIATE_TEST_SUITE_P(host, flawed_model_of_the_file, ::testing::ValuesIn(histories::every_conviction(remembers)),
                         [](const auto& one) { return one.param.name(); });

}  // namespace
}  // namespace mortise::stores::host
