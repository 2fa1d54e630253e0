// One attempt to get a lock from a majority of several stores. Pure: it is told what each node answered and what time it is, and
// says whether the lock is granted, as soon as that is certain.
//
//   started         each node's deadline                    the lease ends on the node that granted first
//   |-------------------|---------------------------------------|
//   |--- elapsed --->|<------------- validity ------------>|drift|
//
// The lease counts from before the first request, so what the attempt took is taken off, and so is what clocks may drift apart
// in one lease. A grant with less than `min_validity` left is none.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace mortise::inline v0::base {

// More than half: two majorities have a node in common, for an even number of nodes too.
constexpr std::size_t majority_of(std::size_t nodes) noexcept {
    return nodes / 2 + 1;
}

// What a node said.
enum class ballot : unsigned char {
    none,  // nothing yet
    granted,
    busy,       // somebody else has it there
    refused,    // it never will: no right, another kind of data
    abstained,  // its word does not count: it started too recently
    unreached,  // it was not there to be asked, so it keeps nothing of this
    failed,     // it may or may not have granted: the connection broke, or its time is up
};

class quorum_vote {
public:
    struct rules {
        std::size_t nodes = 1;
        spi::duration lease{};
        spi::duration node_timeout{};  // for an answer; a fifth of the lease is the most that counts
        spi::duration min_validity{};
        double drift = 0;  // of the lease, and
        spi::duration margin{};
    };
    enum class result : unsigned char {
        open,
        granted,
        too_late,  // by a majority, but too little of the lease is left
        busy,      // not by a majority, though one answered: others have the rest
        refused,   // too many never will
        failed,    // too few answered
    };

    quorum_vote(const rules& given, spi::time_point started);

    // A node's first answer; later ones, and those after the result, change nothing. One that comes after the deadline counts
    // if it comes before poll(): what was granted is judged by what is left of it.
    result cast(std::size_t node, ballot answer, spi::time_point now);
    // Nodes without an answer have failed, once the deadline is over.
    result poll(spi::time_point now);

    result is() const noexcept { return result_; }
    spi::time_point started() const noexcept { return started_; }
    spi::time_point deadline() const noexcept { return started_ + wait_; }  // of every node
    spi::duration validity(spi::time_point now) const noexcept;             // of a grant
    bool in_time(spi::time_point now) const noexcept;                       // enough of it is left
    ballot of(std::size_t node) const noexcept { return ballots_[node]; }
    std::size_t count(ballot which) const noexcept;

    // Whether this node may keep the claim: it granted, or it may yet. If the vote fails, it is released there.
    bool may_be_at(std::size_t node) const noexcept;

private:
    result decide(spi::time_point now) const;

    const rules rules_;
    const spi::time_point started_;
    const spi::duration wait_;
    std::vector<ballot> ballots_;
    result result_ = result::open;
};

// When a majority may be free, of which each node said when it may be: now, later, or not at all (none).
std::optional<spi::duration> free_in_a_majority(std::vector<std::optional<spi::duration>> nodes);

// Renewals of one hold. A majority must renew; it is lost when a majority no longer can.
spi::renewal_answer renewed_by(std::size_t nodes, std::size_t renewed, std::size_t lost) noexcept;

// Releases of one hold, when all nodes have answered or had their time.
spi::release_answer released_by(const std::vector<spi::release_answer>& nodes) noexcept;

}  // namespace mortise::inline v0::base
