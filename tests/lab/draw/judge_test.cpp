// Whether a story has taken place at all.
#include "lab/stage/judge.hpp"

#include "lab/draw/verdict.hpp"
#include "support/lab_sample.hpp"

#include <gtest/gtest.h>

namespace lab {
namespace {

using testing::script;

story made_for_the_test(int stock) {
    story made{};
    made.name = "made-for-the-test";
    made.stock = stock;
    made.ends_in = {mishap::overlap};
    return made;
}

bool as_told(const story& told, form played, const trace& all) {
    return verdict_of(told, {played, all, judged(told, played, all)}).as_told;
}

script granted() {
    script made;
    made.enter("A").command("A", "claim ticket → granted, token 7").add(kind::granted, "A", {}, 7).hold("A", 7);
    return made;
}

TEST(judge, a_mended_form_that_takes_its_lock_is_as_told) {
    EXPECT_TRUE(as_told(made_for_the_test(0), form::mended, granted()));
    script sells = granted();
    sells.add(kind::stock, "", {}, 20).add(kind::sold, "A").add(kind::stock, "", {}, 19);
    EXPECT_TRUE(as_told(made_for_the_test(20), form::mended, sells));
}

TEST(judge, a_mended_form_that_throws_is_not_as_told) {
    script throws = granted();
    throws.add(kind::failed, "A", "throws: timeout must be a duration of 1 ms to 1 h").add(kind::ends, "A");
    story told = made_for_the_test(0);
    EXPECT_FALSE(as_told(told, form::mended, throws));
    EXPECT_TRUE(judged(told, form::mended, throws).contains(mishap::fails));
    told.throws = true;
    EXPECT_TRUE(as_told(told, form::mended, throws));
}

TEST(judge, a_naive_form_that_throws_is_not_as_told) {
    script throws;
    throws.hold("A").hold("B").add(kind::failed, "B", "throws: no connection");
    EXPECT_FALSE(as_told(made_for_the_test(0), form::naive, throws));
}

TEST(judge, a_mended_form_that_does_nothing_is_not_as_told) {
    script refused;
    refused.enter("A").command("A", "claim ticket → busy").add(kind::ends, "A");
    story told = made_for_the_test(0);
    EXPECT_FALSE(as_told(told, form::mended, refused));
    told.mend_locks = false;
    EXPECT_TRUE(as_told(told, form::mended, refused));
}

TEST(judge, a_mended_form_that_sells_nothing_is_not_as_told) {
    script all = granted();
    all.add(kind::stock, "", {}, 20).add(kind::stock, "", {}, 20);
    EXPECT_FALSE(as_told(made_for_the_test(20), form::mended, all));
}

}  // namespace
}  // namespace lab
