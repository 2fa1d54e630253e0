// Tokens that several stores give together: each raises its own, and knows whether it has forgotten any (spi::raise_token).
#include "conformance/suite.hpp"
#include "support/tapped_client.hpp"

#include <mortise/spi/quorum.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using enum spi::raise_answer::verdict;
using change = spi::recall_request::change;

class raised_tokens : public store_suite {
protected:
    void SetUp() override {
        if (!can().raises_tokens) GTEST_SKIP() << "not promised, and refused (raised_tokens_not_promised)";
    }

    template <class Answer>
    static Answer answer_of(std::promise<Answer>& said) {
        auto answer = said.get_future();
        if (answer.wait_for(plenty) == std::future_status::ready) return answer.get();
        ADD_FAILURE() << "no answer";
        return {};
    }
    spi::claim_answer claim(const std::string& name, const claim_id& id) {
        const auto said = std::make_shared<std::promise<spi::claim_answer>>();
        mine.store().claim({.name = name, .id = id, .lease = 10min},
                           [said](spi::claim_answer answer) { said->set_value(std::move(answer)); });
        return answer_of(*said);
    }
    void release(const std::string& name, const claim_id& id) {
        const auto said = std::make_shared<std::promise<spi::release_answer>>();
        mine.store().release(name, id, [said](spi::release_answer answer) { said->set_value(answer); });
        EXPECT_EQ(answer_of(*said), spi::release_answer::released);
    }
    spi::raise_answer raise(const std::string& name, const claim_id& id, std::uint64_t to, const claim_id& version) {
        const auto said = std::make_shared<std::promise<spi::raise_answer>>();
        mine.store().raise_token({.name = name, .id = id, .to = to, .version = version},
                                 [said](const spi::raise_answer& answer) { said->set_value(answer); });
        return answer_of(*said);
    }
    spi::token_memory recall(const spi::recall_request& asked = {}) {
        const auto said = std::make_shared<std::promise<std::optional<spi::token_memory>>>();
        mine.store().recall_tokens(asked,
                                   [said](const std::optional<spi::token_memory>& answer) { said->set_value(answer); });
        const auto memory = answer_of(*said);
        EXPECT_TRUE(memory);
        return memory.value_or(spi::token_memory{});
    }
    spi::token_memory made_whole(std::uint64_t floor = 0) {
        return recall({.what = change::restore, .version = recall().version, .floor = floor});
    }

    tapped_client mine{store_at_url()};
};
EVERY_STORE(raised_tokens);

TEST_P(raised_tokens, are_the_holders_and_lead_to_larger_ones) {
    const spi::token_memory memory = made_whole();
    ASSERT_TRUE(memory.whole);
    const claim_id id = claim_id::random();
    const std::uint64_t first = claim("n", id).grant.counter;
    const std::uint64_t to = first + 1'000'000'000;
    EXPECT_EQ(raise("n", id, to, memory.version).is, raised);
    EXPECT_EQ(raise("n", id, to, memory.version).is, raised) << "repeated";
    EXPECT_EQ(claim("n", id).grant.counter, to) << "a claim that is repeated";
    EXPECT_EQ(recall().highest, to);
    release("n", id);
    const claim_id next = claim_id::random();
    EXPECT_GT(claim("n", next).grant.counter, to);
    release("n", next);
}

TEST_P(raised_tokens, never_become_smaller) {
    const spi::token_memory memory = made_whole();
    const claim_id id = claim_id::random();
    const std::uint64_t first = claim("n", id).grant.counter;
    for (const std::uint64_t to : {std::uint64_t{1}, first - 1}) {
        const spi::raise_answer no = raise("n", id, to, memory.version);
        EXPECT_EQ(no.is, not_larger) << to;
        EXPECT_EQ(no.largest, first);
    }
    EXPECT_EQ(raise("n", id, first + 5, memory.version).is, raised);
    EXPECT_EQ(raise("n", id, first + 4, memory.version).largest, first + 5);
    release("n", id);
}

TEST_P(raised_tokens, are_a_holders_only) {
    const spi::token_memory memory = made_whole();
    const claim_id id = claim_id::random();
    const std::uint64_t first = claim("n", id).grant.counter;
    EXPECT_EQ(raise("n", claim_id::random(), first + 1, memory.version).is, lost);
    EXPECT_EQ(raise("another", id, first + 1, memory.version).is, lost);
    release("n", id);
    EXPECT_EQ(raise("n", id, first + 1, memory.version).is, lost);
}

TEST_P(raised_tokens, need_a_whole_memory_which_has_to_be_made) {
    const spi::token_memory before = recall();
    EXPECT_FALSE(before.whole) << "nobody has said so yet";
    EXPECT_EQ(recall().version, before.version);
    EXPECT_EQ(recall({.what = change::vouch}).version, before.version) << "there is nothing to vouch for";
    const claim_id id = claim_id::random();
    const std::uint64_t first = claim("n", id).grant.counter;
    EXPECT_EQ(raise("n", id, first + 1, before.version).is, forgot);
    EXPECT_FALSE(recall({.what = change::restore, .version = claim_id::random(), .floor = 1}).whole)
        << "of another memory";

    const spi::token_memory after = made_whole(first + 10);
    EXPECT_TRUE(after.whole);
    EXPECT_EQ(after.floor, first + 10);
    EXPECT_EQ(after.highest, first + 10);
    EXPECT_EQ(made_whole(first + 99).floor, first + 10) << "it is whole already";
    EXPECT_EQ(raise("n", id, first + 10, after.version).is, not_larger) << "it may have been given before";
    EXPECT_EQ(raise("n", id, first + 11, after.version).is, raised);
    release("n", id);
}

TEST_P(raised_tokens, of_claims_that_began_before_it_vouched_are_refused) {
    const spi::token_memory before = made_whole();
    const claim_id id = claim_id::random();
    const std::uint64_t first = claim("n", id).grant.counter;
    const spi::token_memory after = recall({.what = change::vouch});
    EXPECT_NE(after.version, before.version);
    EXPECT_TRUE(after.whole);
    EXPECT_EQ(raise("n", id, first + 1, before.version).is, forgot);
    EXPECT_EQ(raise("n", id, first + 1, after.version).is, raised);
    release("n", id);
}

class raised_tokens_not_promised : public store_suite {};
EVERY_STORE(raised_tokens_not_promised);

TEST_P(raised_tokens_not_promised, are_refused_and_so_is_a_quorum_with_tokens) {
    if (can().raises_tokens) GTEST_SKIP() << "promised";
    if (!can().leases) GTEST_SKIP() << "no store for a quorum: it has no leases";
    try {
        const client locks = spi::make_client(
            spi::quorum_of({{"a", store_at_url()}, {"b", store_at_url()}, {"c", store_at_url()}}, {.fenced = true}));
        ADD_FAILURE() << "a quorum gave tokens that its nodes cannot raise";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unsupported);
        EXPECT_NE(std::string(e.what()).find(can().store), std::string::npos) << e.what();
    }
}

}  // namespace
}  // namespace mortise::testing
