// Includes of a folder point one way, and a class is one thing: at most thirty member functions, in one file.
#include "tree/classes.hpp"
#include "tree/include_graph.hpp"
#include "tree/layers.hpp"
#include "tree/repository.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr int most_functions = 30;

// What is being mended, and may stand until it is. A row that is no longer needed is an error too.
// clang-format off
const std::map<std::string, std::string> known_cycles{
};
const std::map<std::string, std::string> known_classes{
};
// clang-format on

bool of_the_tree(const std::string& file) {
    if (!file.starts_with("src/") && !file.starts_with("tools/")) return false;
    const bool source = file.ends_with(".cpp") || file.ends_with(".hpp");
    const bool for_tests =
        file.ends_with("_test.cpp") || file.find("/fixture.") != file.npos || file.find("/servers/") != file.npos;
    return source && !for_tests;
}

std::string text_of(const std::string& file) {
    std::ifstream in{tree::root() / file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::vector<tree::class_found> largest_first() {
    std::vector<tree::source> sources;
    for (const std::string& file : tree::files())
        if (of_the_tree(file)) sources.push_back({file, text_of(file)});
    auto classes = tree::classes_of(sources);
    std::stable_sort(classes.begin(), classes.end(),
                     [](const auto& a, const auto& b) { return a.functions > b.functions; });
    return classes;
}

std::string shown(const tree::class_found& each) {
    std::string text = std::to_string(each.functions) + " member functions: " + each.name + " (" + each.file + ":" +
                       std::to_string(each.line) + ")";
    if (each.defined_in.size() > 1) {
        text += ", defined in";
        for (const std::string& file : each.defined_in) text += " " + file.substr(file.rfind('/') + 1);
    }
    return text + (each.excuse.empty() ? "" : "\n      One class because " + each.excuse);
}

// src/core, src/stores/redis, tools/mortise: where includes go one way among themselves.
std::set<std::string> folders() {
    std::set<std::string> found;
    for (const std::string& file : tree::files()) {
        if (!of_the_tree(file)) continue;
        const int depth = file.starts_with("src/stores/") ? 3 : 2;
        std::size_t end = 0;
        for (int i = 0; i < depth && end != file.npos; ++i) end = file.find('/', end + 1);
        if (end != file.npos) found.insert(file.substr(0, end));
    }
    return found;
}

TEST(structure, includes_of_a_folder_point_one_way) {
    std::vector<tree::include_line> lines;
    for (const std::string& file : tree::files()) {
        if (!of_the_tree(file)) continue;
        std::ifstream in{tree::root() / file};
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            std::string header = tree::included(file, line);
            if (!header.empty()) lines.push_back({file, number, std::move(header)});
        }
    }
    EXPECT_GT(lines.size(), 300U) << "this test read almost nothing of " << tree::root();
    for (const std::string& folder : folders()) {
        const auto found = tree::cycles(folder, lines);
        if (known_cycles.contains(folder)) {
            EXPECT_FALSE(found.empty()) << folder
                                        << ": its includes point one way now. Remove its row of known_cycles.";
        } else {
            for (const std::string& cycle : found) ADD_FAILURE() << cycle;
        }
    }
    for (const auto& [folder, why] : known_cycles)
        EXPECT_TRUE(folders().contains(folder)) << folder << " is in known_cycles, but there is no such folder";
}

TEST(structure, a_class_has_thirty_functions_at_most_and_one_file) {
    const auto classes = largest_first();
    EXPECT_GT(classes.size(), 200U) << "this test read almost nothing of " << tree::root();
    std::set<std::string> still_needed;
    for (const auto& each : classes) {
        if (each.functions <= most_functions && each.defined_in.size() <= 1) continue;
        if (!each.excuse.empty()) continue;
        const std::string row = each.file + " " + each.name;
        still_needed.insert(row);
        EXPECT_TRUE(known_classes.contains(row))
            << shown(each) << "\n  Make it several nouns, or say in the comment before it: One class because ...";
    }
    for (const auto& [row, why] : known_classes)
        EXPECT_TRUE(still_needed.contains(row))
            << row << " is within the limits or has another name now. Change or remove its row of known_classes.";
}

// make sizes
TEST(structure, the_ten_largest_classes) {
    const auto classes = largest_first();
    ASSERT_GE(classes.size(), 10U);
    for (std::size_t i = 0; i < 10; ++i) std::cout << "  " << shown(classes[i]) << "\n";
}

using strings = std::vector<std::string>;

TEST(structure, the_reader_counts_what_a_class_declares) {
    const auto found = tree::classes_of({{"src/a/x.hpp", R"__(
#define NOISE(x) class x {
namespace a::inline v0 {
// What it does.
// One class because its parts
// share a mutex.
template <class T, class U = std::vector<int>>
class alignas(64) big final : public base<T>, other {
public:
    explicit big(int n) noexcept : base<T>(n), n_{n}, f_([] { return 1; }) {}  // 1
    ~big() override;                                                          // 2
    big(const big&) = delete;
    big& operator=(const big&) = delete;
    big(big&&) = default;
    template <class V>
        requires(sizeof(V) > 1)
    std::function<void(int)> map(V v = {}, char c = '{') const&;              // 3
    bool operator()(int) const { return n_ < 3 && n_ > 1'000; }               // 4
    bool operator<(const big&) const noexcept(noexcept(n_ < n_));             // 5
    explicit operator bool() const;                                           // 6
    auto later() -> std::pair<int, int>;                                      // 7
    [[nodiscard("why (so)")]] virtual int pure(std::string_view s = "};") = 0;   // 8
    friend bool operator==(const big&, const big&) = default;
    friend void swap(big& a, big& b) { a.n_ = b.n_; }
    using call = void (*)(int);
    static_assert(sizeof(int) == 4);
    enum class kind { one, two };
    struct part {
        int size() const { return 1; }
        int n = 2;
    };
    struct elsewhere;
    struct part own() const;                                                  // 9

private:
    std::function<void(int)> f_;
    void (*g_)(int) = nullptr;
    decltype(f_) h_;
    int n_{3}, m_ = int(4);
    std::array<int, (1 > 0)> a_{};
};
struct big_two;
enum class e { x };
bool operator==(const e&, e);
struct plain { int n; std::string s{"a"}; } one;
}  // namespace a
)__"},
                                         {"src/a/x.cpp", R"__(
template <class T> auto big<T>::later() -> std::pair<int, int> { return {}; }
big<int>::~big() { big::part{}; }
struct big::elsewhere { void f(); };
)__"},
                                         {"src/a/y.cpp", R"__(
namespace a { namespace {
const std::vector<int>& a::big<std::vector<int>>::map(int) const { struct local { void f(); }; }
void big::elsewhere::f() {}
}}
)__"},
                                         {"src/b/z.cpp", "void big::f() {}\nint n = big::m();"}});
    strings read;
    for (const auto& each : found) read.push_back(each.name + " " + std::to_string(each.functions));
    EXPECT_EQ(read, (strings{"big 9", "big::part 1", "plain 0", "big::elsewhere 1"}));
    EXPECT_EQ(found[0].line, 7);
    EXPECT_EQ(found[0].excuse, "its parts share a mutex.");
    EXPECT_EQ(found[0].defined_in, (std::set<std::string>{"src/a/x.cpp", "src/a/y.cpp"}));
    EXPECT_EQ(found[1].excuse, "");
    EXPECT_TRUE(found[1].defined_in.empty());
}

TEST(structure, a_cycle_of_includes_is_told_line_by_line) {
    const std::vector<tree::include_line> lines{
        {"src/a/x.cpp", 1, "src/a/x.hpp"}, {"src/a/x.cpp", 2, "src/a/y.hpp"}, {"src/a/y.cpp", 3, "src/a/z.hpp"},
        {"src/a/z.hpp", 4, "src/a/x.hpp"}, {"src/a/w.cpp", 5, "src/a/x.hpp"}, {"src/b/x.hpp", 6, "src/a/x.hpp"},
        {"src/a/x.hpp", 7, "src/b/x.hpp"},
    };
    EXPECT_EQ(tree::cycles("src/a", lines), (strings{"src/a: a cycle of 3 includes\n"
                                                     "  src/a/x.cpp:2 includes src/a/y.hpp\n"
                                                     "  src/a/y.cpp:3 includes src/a/z.hpp\n"
                                                     "  src/a/z.hpp:4 includes src/a/x.hpp\n"}));
    EXPECT_TRUE(tree::cycles("src/b", lines).empty());
}

}  // namespace
