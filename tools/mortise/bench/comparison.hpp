// Several stores side by side: what a lock costs on each, in time and in trips to its server, and what it promises for that.
#pragma once

#include "figures.hpp"
#include "options.hpp"
#include "scenario.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace bench {

// One contest of a few figures for each store, all of them times: of a trip; of a lock and unlock that nobody disturbs; of a
// hand-over between two processes, until the one that sleeps has it; between two grants when 16 threads want the lock, with
// local hand-over and without; between two reads of 16 readers, without a lock, with its shared side, and one at a time. Reads are
// compared with those without a lock, the others with a trip.
scenario comparison(const subject_stores& stores, const options& how);

// A row for each store: its figures, then its promises.
void print_comparison(std::ostream& out, const subject_stores& stores, const std::vector<figure>& taken);

// What a store promises, as an object.
std::string json_of(const subject_store& one);

}  // namespace bench
