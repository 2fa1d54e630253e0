// Figures: the median of several runs, in turn with those of the baseline, with least and most. For people a table, for
// programs an object a line.
#pragma once

#include "histogram.hpp"
#include "statistics.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// What a figure must be.
struct bar {
    enum class side { at_least, at_most } is;
    double limit;
    bool of_ratio = true;  // else of the value itself

    bool met(double value) const { return is == side::at_least ? value >= limit : value <= limit; }
    std::string described() const;  // "at least 0.1"
};

enum class unit { per_second, nanoseconds, share, bytes, processors, count };

struct metric {
    std::string name;
    bench::unit unit;
    bool headline = false;  // people look at it first: it is shown with least and most, and with its ratio
};

struct figure {
    std::string store;     // its address, secrets masked
    std::string workload;  // "contended, 16 threads, 1 name"
    std::string subject;   // the lock that was measured
    bench::metric metric;
    spread value;
    std::string baseline{};         // what it is compared with; empty: nothing
    std::optional<spread> ratio{};  // to the baseline of the same round
    std::optional<bench::bar> bar{};

    bool bar_missed() const;
};

// One contender's waits, over all runs of a workload.
struct distribution {
    std::string store;
    std::string workload;
    std::string subject;
    histogram waits;
};

// "1.23 M", "4.5 us", "0.98": three digits and what they count.
std::string readable(double value, unit of);

std::string json_of(const figure& one);

// Text in columns, the first flush left and the others flush right. All rows have as many.
using row = std::vector<std::string>;
void print_rows(std::ostream& out, const std::vector<row>& rows);

// The figures of one workload: a row for each subject, a column for each metric. Several stores stand below each other.
void print_table(std::ostream& out, const std::vector<figure>& of_one_workload);

}  // namespace bench
