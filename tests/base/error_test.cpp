// Every code has a message of its own and equals the std::errc that its header promises.
#include <mortise/error.hpp>

#include <set>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace mortise {
namespace {

struct row {
    errc code;
    std::errc same_as;
};

constexpr row table[] = {
    {errc::busy, std::errc::device_or_resource_busy},
    {errc::timed_out, std::errc::timed_out},
    {errc::cancelled, std::errc::operation_canceled},
    {errc::would_deadlock, std::errc::resource_deadlock_would_occur},
    {errc::lost, std::errc::owner_dead},
    {errc::not_owner, std::errc::operation_not_permitted},
    {errc::forked, std::errc::no_child_process},
    {errc::closed, std::errc::not_connected},
    {errc::unreachable, std::errc::host_unreachable},
    {errc::kind_mismatch, std::errc::wrong_protocol_type},
    {errc::unsupported, std::errc::not_supported},
    {errc::no_token, std::errc::not_supported},
    {errc::invalid_name, std::errc::invalid_argument},
    {errc::invalid_option, std::errc::invalid_argument},
    {errc::bad_url, std::errc::invalid_argument},
    {errc::unknown_store, std::errc::invalid_argument},
    {errc::exhausted, std::errc::resource_unavailable_try_again},
    {errc::denied, std::errc::permission_denied},
};

// A code that is added and not listed here fails to compile (-Wswitch) until it is counted.
constexpr int position(errc code) {
    switch (code) {
        case errc::busy:
        case errc::timed_out:
        case errc::cancelled:
        case errc::would_deadlock:
        case errc::lost:
        case errc::not_owner:
        case errc::forked:
        case errc::closed:
        case errc::unreachable:
        case errc::kind_mismatch:
        case errc::unsupported:
        case errc::no_token:
        case errc::invalid_name:
        case errc::invalid_option:
        case errc::bad_url:
        case errc::unknown_store:
        case errc::exhausted:
        case errc::denied:
            return static_cast<int>(code);
    }
    return 0;
}

TEST(error, every_code_stands_in_the_table) {
    int expected = 1;
    for (const row& r : table) EXPECT_EQ(position(r.code), expected++);
    EXPECT_EQ(error_category().message(expected), "unknown mortise error " + std::to_string(expected));
}

TEST(error, every_code_has_a_message_of_its_own) {
    std::set<std::string> messages;
    for (const row& r : table) {
        const std::string message = make_error_code(r.code).message();
        EXPECT_GT(message.size(), 8u);
        EXPECT_TRUE(messages.insert(message).second) << message;
    }
}

TEST(error, every_code_equals_the_standard_one_it_documents_and_no_other) {
    for (const row& r : table) {
        const std::error_code code = r.code;
        EXPECT_TRUE(code) << "a code is never success";
        EXPECT_EQ(code, r.same_as) << code.message();
        for (const row& other : table) {
            EXPECT_EQ(code == other.code, r.code == other.code);
            if (other.same_as != r.same_as) {
                EXPECT_NE(code, other.same_as) << code.message();
            }
        }
    }
}

TEST(error, the_category_has_a_name_and_is_one) {
    EXPECT_STREQ(error_category().name(), "mortise");
    EXPECT_EQ(&make_error_code(errc::busy).category(), &error_category());
    EXPECT_NE(make_error_code(errc::busy), std::error_code(1, std::system_category()));
    EXPECT_EQ(std::error_code(0, error_category()).value(), 0);
}

TEST(error, the_exception_is_a_system_error_that_tells_code_and_detail) {
    try {
        throw error(errc::timed_out, "lock 'n' on memory:");
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), errc::timed_out);
        EXPECT_EQ(e.code(), std::errc::timed_out);
        const std::string what = e.what();
        EXPECT_EQ(what, "lock 'n' on memory:") << "the story is told once";
    }
}

}  // namespace
}  // namespace mortise
