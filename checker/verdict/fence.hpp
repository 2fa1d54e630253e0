// C3, fenced register: a resource that seals loses no update, whatever its writers slept through.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// `applied` is the log of the resource itself, in the order in which it did things; `operations` is what its clients say. Every
// write carries the id of the write that it was made from, so a lost update shows in the log of an honest resource: its successor
// was made from something older.
//
//   seals never fall, and only the sealed token reads and writes
//   each write was made from the one before it
//   an acknowledged write was applied once, a refused one never; an unknown one may have been
//   a read returned what was written last
judgement fenced_register(const std::vector<record>& applied, const std::vector<operation>& operations);

// For controls: how many acknowledged writes were overwritten by one that had not read them.
struct lost_updates {
    std::size_t writes = 0;
    std::size_t lost = 0;
};
lost_updates count_lost_updates(const std::vector<record>& applied);
judgement updates_without_seals(const std::vector<record>& applied);

}  // namespace mortise::checker
