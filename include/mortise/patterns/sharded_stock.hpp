// Stock that many sell at once.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/patterns/fenced_storage.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0 {

// One lock sells one item at a time. Stock that is split into segments, each with a lock of its own and perhaps on a server
// of its own, sells as many at a time as there are segments.
//
//     mortise::sharded_stock tickets{{{locks_a, stock_a}, {locks_b, stock_b}}, "tickets"};
//     tickets.add("opening", 2000);
//     if (!tickets.take(order.id, 2)) sold_out();
//
// A sale begins at the segment that the buyer's key leads to, and goes on to the others while it finds too little. It never
// sells what is not there, and says "sold out" only if no segment has any left for it: what lies scattered is moved
// together first. A process may die at any point: what it was moving is found and moved on by the next who comes by.
//
// Needs stores with fencing tokens; the constructor throws errc::unsupported otherwise. All members may be called from any
// thread. Clients and storages must outlive it. All who share the stock must list the same segments in the same order.
//
// When not to use it: docs/sharded_stock.md.
class MORTISE_API sharded_stock {
public:
    struct segment {
        client& locks;          // where its lock lies
        fenced_storage& place;  // where its amount lies
    };
    enum class choice { hash, modulo };  // of the key; modulo: of the number that the key ends in, hash if it has none
    struct options {
        choice by = choice::hash;
        std::chrono::nanoseconds wait = std::chrono::seconds{10};  // for the lock of one segment
    };

    sharded_stock(std::vector<segment> segments, std::string name, options how);
    sharded_stock(std::vector<segment> segments, std::string name);
    ~sharded_stock();
    sharded_stock(const sharded_stock&) = delete;
    sharded_stock& operator=(const sharded_stock&) = delete;

    // Takes so many for a buyer. Returns false if there are not so many. Throws why a segment that may have them cannot be
    // reached (errc::unreachable, or what its storage throws). If a storage fails while it is being written to, and the
    // write cannot be repeated, the items may have been taken: take the exception for "unknown", as with any database.
    // `inside` runs while the segment is locked, before the items are taken: if it throws, nothing is sold. It must not use
    // the stock itself (errc::would_deadlock).
    bool take(std::string_view key, std::int64_t count = 1, unique_function<void()> inside = {});

    // Puts so many in: new stock, or what came back. Into another segment if the key's own cannot be reached. A delivery of at
    // least 16 for each segment is then spread over all of them, in equal shares, so that they sell side by side. Throws
    // errc::invalid_option if the storages say that others list more or fewer segments.
    void add(std::string_view key, std::int64_t count);

    // The exact total, with all segments locked for a moment.
    std::int64_t audit();

    std::size_t segment_of(std::string_view key) const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
