// A line of claims that a store keeps as entries in order of arrival, and nothing else. Who of them holds follows from the
// entries alone: all who read the same entries come to the same verdict, and no record of grants is needed. So do etcd (keys
// by create revision) and ZooKeeper (nodes by czxid).
//
//   - The longest beginning of the line whose weights fit holds. Entries leave in any order and arrive at the end, so one
//     that holds goes on holding, and nobody gets in past a big claim that waits.
//   - An entry instead of a hold (upgrade, downgrade) arrives at the end as well, and keeps out those who arrive after it.
//     Once the others that hold leave it room, it takes the old one's place by an *exchange*, one transaction: the old entry
//     is deleted, its own is rewritten with `place`, and the line's floor is written.
//   - The counter of a grant is the entry's arrival. Only an exchange is granted out of that order. It writes the *floor*, a
//     record beside the line; an entry older than the floor is *stamped* before it counts as granted: rewritten together
//     with the floor, and its counter is that revision. The floor goes when the last entry of the line does.
//   - Entries that disagree on the capacity: the first one is right, and the owner of another withdraws it when it first
//     looks. Until it has, nobody behind it is granted.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::base {

struct line_entry {
    claim_id id{};
    std::uint64_t arrived = 0;  // the store's own number of its creation: unique, rising
    std::uint64_t written = 0;  // and of its last change
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    claim_id instead_of{};    // a hold on this name whose place it is to take; zero: none
    std::uint64_t place = 0;  // where that one stood, once it has
    bool stamped = false;     // its counter is that of its last change

    std::uint64_t stands_at() const noexcept { return place != 0 ? place : arrived; }
    std::uint64_t counter() const noexcept { return stamped ? written : arrived; }
    bool to_be_exchanged() const noexcept { return instead_of != claim_id{} && place == 0; }
};

struct line_verdict {
    enum class verdict {
        absent,  // no such entry
        holds,
        waits,
        may_exchange,    // it may take the place of its `instead_of` now
        lost,            // what it was to replace is gone
        would_deadlock,  // another one waits to take a hold's place already
        other_kind,      // the first of the line has another capacity
    };
    verdict is = verdict::absent;

    // When it holds: an exchange went before it, so it has to be stamped. Right only if the floor is still the one that was
    // read when that is written; else look again.
    bool to_be_stamped = false;

    // When it waits: the verdict cannot change before one of these has left the line.
    std::vector<claim_id> watch{};

    // When it may exchange: right only if these are still in the line, and the floor is the one that was read, when the
    // exchange is written. Else look again.
    std::vector<claim_id> guards{};

    std::uint32_t capacity = 0;        // of the line
    std::size_t place = 0;             // among those who wait, 1 is next; 0 if it holds
    std::optional<claim_id> holder{};  // the first that holds, itself and what it replaces excepted
};

// `floor`: the number of the last change of the line's floor, 0 if there is none.
line_verdict judge(std::span<const line_entry> line, const claim_id& mine, std::uint64_t floor = 0);

// Whether all of them hold: nobody waits.
bool all_hold(std::span<const line_entry> line);

// One line, and the verdicts on many of its entries. Where all claims are exclusive, as in the line of a mutex, each verdict
// follows from where its entry stands, and a crowd that looks at the same line does not cost the square of its size.
class judged_line {
public:
    explicit judged_line(std::vector<line_entry> line);

    line_verdict of(const claim_id& mine) const;
    bool all_hold() const { return base::all_hold(line_); }
    std::optional<std::size_t> index_of(const claim_id& id) const;  // in the line as it was given

private:
    std::vector<line_entry> line_;
    std::unordered_map<claim_id, std::size_t> index_;
    std::vector<std::size_t> order_;   // indexes, as the entries stand; empty unless all are exclusive
    std::vector<std::size_t> stands_;  // and where in it each stands
};

// What was read of a long line: the entries up to and including one's own, or the last of these.
struct line_part {
    std::span<const line_entry> end;
    std::optional<line_entry> first{};  // the oldest of the whole line, if it was read
    bool missing_before = false;        // there are older entries than these
    bool missing_after = false;         // there may be younger ones
};

// What judge() would say of the whole line, if that follows from the part. Of one that waits, the place and the holder may be
// left out, and whom it watches may be others, which are as good. Without the first, entries that agree on the capacity are
// taken to be right about it; who is not is told when it gets near the front.
std::optional<line_verdict> judge_part(const line_part& part, const claim_id& mine, std::uint64_t floor);

}  // namespace mortise::inline v0::base
