// How everything that the scripts keep, are told and answer is packed, described once. C++ packs and unpacks by these tables;
// the scripts name them, and spliced() puts offsets, formats and lists of fields into their text:
//
//   HEAD_size                 61                             bytes of it
//   HEAD_at_kept, HEAD_to_kept    60, 61                     the first and the last byte of a field, as string.sub counts
//   HEAD_fields               form, capacity, used, ...      whatever stands before it stands before each: s.HEAD_fields
//   HEAD_with{used = 1}       form, capacity, 1, ...         the same, with other values for some of them
//   FORMAT('HEAD c0 ID')      '>c2I4I4...c0c16'              layouts and codes of Lua's struct library in a row
//   FORMAT('HEAD.armed,life') '>I4d'                         some fields, which must follow each other
//   FORMAT('HEAD<front')      '>c30'                         the bytes before a field
//   FORM, REMEMBERED, ...     the constants below
//
// Literals cost a script nothing. Arithmetic on them does not either, as long as they stand together and first: Lua folds it.
#pragma once

#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

struct packed_field {
    std::string_view name;
    std::string_view code;  // of Lua's struct library: d, I4, i4, H, B, c and a length; big-endian

    constexpr std::size_t size() const {
        switch (code.front()) {
            case 'd':
                return 8;
            case 'H':
                return 2;
            case 'B':
                return 1;
            default: {
                std::size_t digits = 0;
                for (const char digit : code.substr(1)) digits = digits * 10 + static_cast<std::size_t>(digit - '0');
                return digits;
            }
        }
    }
};

struct record_layout {
    std::string_view name;
    std::span<const packed_field> fields;

    constexpr const packed_field& field(std::string_view wanted) const {
        for (const packed_field& one : fields)
            if (one.name == wanted) return one;
        throw std::logic_error("no such field: " + std::string(name) + "." + std::string(wanted));
    }
    constexpr std::size_t offset(std::string_view wanted) const {
        std::size_t before = 0;
        for (const packed_field* one = fields.data(); one != &field(wanted); ++one) before += one->size();
        return before;
    }
    constexpr std::size_t size() const {
        std::size_t all = 0;
        for (const packed_field& one : fields) all += one.size();
        return all;
    }
};

namespace layouts {

inline constexpr packed_field id_fields[]{{"id", "c16"}};
inline constexpr record_layout id{"ID", id_fields};

// What every record of a name begins with; state.lua says what the fields mean.
inline constexpr packed_field head_fields[]{
    {"form", "c2"},    {"capacity", "I4"}, {"used", "I4"}, {"held", "I4"},    {"last", "d"},
    {"next_end", "d"}, {"front", "i4"},    {"back", "i4"}, {"waiting", "I4"}, {"refreshed", "I4"},
    {"armed", "I4"},   {"life", "d"},      {"ended", "B"}, {"kept", "H"},
};
inline constexpr record_layout head{"HEAD", head_fields};

// An id that has ended, of which half is kept, and what its release was answered.
inline constexpr packed_field ended_fields[]{{"id", "c8"}, {"answer", "c1"}};
inline constexpr record_layout ended{"ENDED", ended_fields};

inline constexpr packed_field holder_fields[]{
    {"ends", "d"}, {"counter", "d"}, {"weight", "I4"}, {"since", "d"}, {"lease", "d"}};
inline constexpr record_layout holder{"HOLDER", holder_fields};

inline constexpr packed_field waiter_fields[]{
    {"id", "c16"}, {"instead", "c16"}, {"weight", "I4"}, {"lease", "d"}, {"since", "d"}};
inline constexpr record_layout waiter{"WAITER", waiter_fields};

// Before each waiter in the head.
inline constexpr packed_field length_fields[]{{"length", "H"}};
inline constexpr record_layout length{"LENGTH", length_fields};

// What the rest of a holder or a waiter begins with; its text follows. Kept: it is k, and the client keeps an idle lock until it is
// told that somebody asks.
inline constexpr packed_field owner_fields[]{{"renewed", "c1"}, {"client", "c16"}, {"kept", "c1"}};
inline constexpr record_layout owner{"OWNER", owner_fields};

// Arguments of a claim: the capacity that it takes the lock to have.
inline constexpr packed_field claim_fields[]{{"claimed", "I4"}, {"weight", "I4"}, {"lease", "d"}, {"flags", "B"}};
inline constexpr record_layout claim{"CLAIM", claim_fields};
struct claim_flags {
    static constexpr unsigned queue = 1;       // wait if it cannot be granted
    static constexpr unsigned must_write = 2;  // even if nothing changes: for those who wait for replicas
};

// Arguments of every script that may grant: how long waiters count as alive after their last heartbeat, the first lease of a grant
// that its owner has not confirmed, and whether the number of receivers that PUBLISH returns proves anything.
inline constexpr packed_field terms_fields[]{{"alive", "d"}, {"grace", "d"}, {"counted", "B"}};
inline constexpr record_layout terms{"TERMS", terms_fields};

inline constexpr packed_field lease_fields[]{{"lease", "d"}};
inline constexpr record_layout lease{"LEASE", lease_fields};

// Answers of a claim and messages to an inbox begin with a letter.
inline constexpr packed_field verdict_fields[]{{"verdict", "c1"}};
inline constexpr record_layout verdict{"VERDICT", verdict_fields};

inline constexpr packed_field grant_fields[]{{"counter", "d"}, {"lease", "d"}, {"left", "d"}, {"now", "d"}};
inline constexpr record_layout grant{"GRANT", grant_fields};

inline constexpr packed_field standing_fields[]{{"place", "d"}, {"free_in", "d"}, {"now", "d"}};
inline constexpr record_layout standing{"STANDING", standing_fields};

// Of the holder in the way of a claim, after its standing; the text of its rest follows.
inline constexpr packed_field blocker_fields[]{{"counter", "d"}, {"held_for", "d"}};
inline constexpr record_layout blocker{"BLOCKER", blocker_fields};

inline constexpr const record_layout* all[]{&id,    &head,  &ended, &holder,  &waiter, &length,   &owner,
                                            &claim, &terms, &lease, &verdict, &grant,  &standing, &blocker};

}  // namespace layouts

// Numbers that the scripts share. Tests set others.
struct script_constants {
    std::string_view form = "m2";  // FORM: what every record begins with
    std::size_t in_head = 4;  // IN_HEAD: waiters in the head, at most: a longer one costs more than fields of their own
    std::int64_t look_every =
        5'000'000;  // LOOK: how often a name with several holders is searched for expired leases, in µs

    // REMEMBERED: a record keeps its latest seven ended ids, whatever their age. Unlike the other stores (base/ended_claims.hpp) it
    // counts ids and not seconds, because every claim and release rewrites the record: seven cover the requests that can be under
    // way for one name, in 63 bytes.
    std::size_t remembered = 7;
};

// The text with what it names of the above put in. Throws std::logic_error if it names what there is not.
std::string spliced(std::string_view text, const script_constants& constants = {});

}  // namespace mortise::inline v0::stores::redis
