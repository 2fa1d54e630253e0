// What `mortise bench --compare` found, as tables of docs/choosing.md. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::compare {

struct measured {
    double nanoseconds = 0;
    double ratio = 0;  // 0: it was compared with nothing
};

// By the address of the store and the name of the figure: {"redis://127.0.0.1:6379", "pair"}.
using figures = std::map<std::pair<std::string, std::string>, measured>;

// Of the objects that `mortise bench --compare --json` prints. Those that are no figures are left out.
figures figures_in(const std::string& lines);

struct titled {
    std::string title;
    std::string store;  // as the figures name it
};

// One row for each. What was not measured is a dash.
std::string table_of(const std::vector<titled>& rows, const figures& all);

// The same as a picture, of the figures that a user waits for: lock and unlock, and the hand-off.
std::string chart_of(const std::string& title, const std::vector<titled>& rows, const figures& all);

// The page with what stands between its two marks replaced. Throws std::runtime_error if it has them not.
std::string with_results(const std::string& page, const std::string& results);

}  // namespace mortise::compare
