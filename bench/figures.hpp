// Figures as they are taken here: the median of several runs, in turn with those of the baseline, with least and most.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace bench {

struct spread {
    double median = 0;
    double least = 0;
    double most = 0;
};
spread spread_of(std::vector<double> values);

// What a ratio must be.
struct bar {
    enum class side { at_least, at_most } side;
    double limit;

    bool met(double ratio) const { return side == side::at_least ? ratio >= limit : ratio <= limit; }
};

struct figure {
    std::string workload;
    std::string subject;  // the lock that was measured
    std::string metric;
    std::string unit;
    spread value;
    std::string baseline{};         // the lock it is compared with; empty: none
    std::optional<spread> ratio{};  // to the baseline of the same round
    std::optional<bench::bar> bar{};

    bool bar_missed() const { return bar && ratio && !bar->met(ratio->median); }
};

// Calls each of the subjects once, then each once more, and so on: what disturbs the machine for a while disturbs all of
// them. The answer is by subject, then by run.
template <class Result>
std::vector<std::vector<Result>> in_turn(int runs, const std::vector<std::function<Result()>>& subjects) {
    std::vector<std::vector<Result>> taken(subjects.size());
    for (int run = 0; run < runs; ++run) {
        for (std::size_t i = 0; i < subjects.size(); ++i) taken[i].push_back(subjects[i]());
    }
    return taken;
}

// Value by value: the ratios of one round each.
spread ratio_of(const std::vector<double>& values, const std::vector<double>& baseline);

// As text: a heading when the workload or the metric is another than that of the figure before, then a line.
class table {
public:
    explicit table(std::ostream& out) : out_(out) {}
    void print(const figure& one);

private:
    std::ostream& out_;
    std::string heading_;
};

// One JSON object on one line.
void print_json(std::ostream& out, const figure& one);

}  // namespace bench
