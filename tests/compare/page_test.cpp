// What becomes of the figures that a comparison prints.
#include "compare/page.hpp"

#include <stdexcept>

#include <gmock/gmock.h>

namespace mortise::compare {
namespace {

using ::testing::HasSubstr;

constexpr const char* printed =
    R"({"store":"redis://127.0.0.1:1","workload":"comparison","subject":"trip","metric":"time","value":26400.5,"unit":"ns","min":1,"max":2,"baseline":null,"ratio":null}
{"store":"redis://127.0.0.1:1","workload":"comparison","subject":"pair","metric":"time","value":1234567,"unit":"ns","min":1,"max":2,"baseline":"trip","ratio":2.345,"ratio_min":2,"ratio_max":3}
{"store":"redis://127.0.0.1:1","workload":"comparison","subject":"reads, shared","metric":"time","value":80000,"unit":"ns","min":1,"max":2,"baseline":"reads, no lock","ratio":1.25,"ratio_min":1,"ratio_max":2}
{"store":"mysql://127.0.0.1:2/t","workload":"comparison, reads, shared","skipped":"has no shared locks"}
{"store":"redis://127.0.0.1:1","workload":"promises","name":"redis single","tokens":true}
)";

TEST(comparison_page, has_time_and_trips_in_a_cell_and_a_dash_where_nothing_is) {
    const std::string table =
        table_of({{"Redis", "redis://127.0.0.1:1"}, {"MariaDB", "mysql://127.0.0.1:2/t"}}, figures_in(printed));
    EXPECT_THAT(table, HasSubstr("\n| Redis | 26.4 µs | 1.23 ms, **2.35** | – | – | – | 0.80 | – |\n"));
    EXPECT_THAT(table, HasSubstr("\n| MariaDB | – | – | – | – | – | – | – |\n"));
}

TEST(comparison_page, draws_a_bar_for_each_that_was_measured) {
    const std::string drawn = chart_of("all", {{"MariaDB, `row`", "redis://127.0.0.1:1"}}, figures_in(printed));
    for (const char* text : {">MariaDB, row<", ">1.23 ms<", "width=\"421\"", "</svg>"})
        EXPECT_THAT(drawn, HasSubstr(text));
}

TEST(comparison_page, keeps_what_stands_around_the_results) {
    const std::string page = "a\n<!-- make compare writes from here -->\nold\n<!-- to here -->\nb\n";
    EXPECT_EQ(with_results(page, "new\n"), "a\n<!-- make compare writes from here -->\nnew\n<!-- to here -->\nb\n");
    EXPECT_THROW(with_results("a\n", "new\n"), std::runtime_error);
}

}  // namespace
}  // namespace mortise::compare
