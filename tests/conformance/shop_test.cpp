// The ticket shop of examples/, on every store: processes of its own that sell one stock.
#include "conformance/suite.hpp"

#ifdef MORTISE_TICKET_SHOP
#include "support/children.hpp"

#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class ticket_shop : public store_suite {};
EVERY_STORE(ticket_shop);

TEST_P(ticket_shop, sells_what_it_has_and_no_more) {
    if (!opened_by_address()) GTEST_SKIP() << no_address;
    const bool apart = GetParam().store->spans_processes();
    const scratch_directory scratch;
    const std::string out = scratch / "out";
    child shop{[&] {
        const int to = ::open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (to < 0 || ::dup2(to, STDOUT_FILENO) < 0 || ::dup2(to, STDERR_FILENO) < 0) return 97;
        ::setenv("MORTISE_STORE", url().c_str(), 1);
        ::setenv("SHOP_STOCK", "120", 1);
        ::setenv("SHOP_PROCESSES", apart ? "3" : "1", 1);
        ::setenv("SHOP_THREADS", "2", 1);
        ::alarm(0);
        ::execl(MORTISE_TICKET_SHOP, MORTISE_TICKET_SHOP, "mortise", nullptr);
        return 98;
    }};
    const int status = shop.wait(90s);
    std::ifstream in{out};
    const std::string said{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(status, 0) << said;
    EXPECT_THAT(said, ::testing::HasSubstr(" stock=120 sold=120 oversold=0 lost=0"));
}

}  // namespace
}  // namespace mortise::testing
#endif
