// Who, inside this process, is inside which lock.
#pragma once

#include "base/spare_blocks.hpp"

#include <mortise/config.hpp>
#include <mortise/hold.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mortise::inline v0::core {

// Names an owner: a thread, or an explicit mortise::owner.
using owner_key = std::uint64_t;

// Never repeats, unlike std::thread::id, which the next thread may inherit with all the locks the last one forgot.
owner_key this_thread_key() noexcept;

// One frame per (name, owner) of a client, whichever mutex objects were used. An owner is one line of execution, so a
// frame is only ever touched by its owner; the mutex guards the table. A frame's hold is never empty.
class reentry : public std::enable_shared_from_this<reentry> {
public:
    struct frame {
        mortise::hold hold;
        const void* through = nullptr;  // the object that locked first
        unsigned depth = 1;
        std::uint32_t weight = 1;
        bool recursive = false;
    };

    // A name as it is looked for; its hash is taken once.
    struct hashed_name {
        std::string_view name;
        std::size_t hash;
        hashed_name(std::string_view n, std::size_t h) noexcept : name(n), hash(h) {}
        explicit hashed_name(std::string_view n) noexcept : hashed_name(n, std::hash<std::string_view>{}(n)) {}
    };

    frame* find(const hashed_name& at, owner_key who) noexcept;  // good until it leaves
    void insert(const hashed_name& at, owner_key who, frame&& f);

    // A frame in the table of its shard, or in none: then it can be put in, for any owner. Its name is that of its hold,
    // whichever that is.
    struct entry : base::spared<entry> {
        explicit entry(frame&& f) noexcept : at(std::move(f)) {}

        entry* next = nullptr;
        owner_key who = 0;
        std::size_t mixed = 0;
        frame at;
    };
    using loose_frame = std::unique_ptr<entry>;
    void insert(const hashed_name& at, owner_key who, loose_frame f);

    // One level out. Still inside: the frame. Last one out: what was the frame. Neither: it never was inside.
    struct departure {
        frame* inside = nullptr;
        loose_frame last{};
    };
    departure leave(const hashed_name& at, owner_key who) noexcept;

    // The owner's hold becomes another one, inside the same frame; answers the old one.
    mortise::hold replace(frame& f, const hashed_name& at, owner_key who, mortise::hold by,
                          std::uint32_t weight) noexcept;

    // What these owners are inside of, as long as they do not move: only for those that are blocked meanwhile.
    void each_of(const std::unordered_set<owner_key>& owners,
                 const std::function<void(const std::string& name, owner_key who, const frame&)>& visit);

    // What was locked through an object that goes away: handed back to the caller to be released.
    std::vector<loose_frame> extract_through(const void* object);

private:
    struct key_view {
        std::string_view name;
        owner_key who;
        std::size_t mixed;

        key_view(const hashed_name& at, owner_key w) noexcept
            : name(at.name), who(w), mixed(at.hash ^ (w * 0x9e3779b97f4a7c15u)) {}
    };
    // Chained, so that a frame is put in and taken out without an allocation.
    class table {
    public:
        ~table();
        entry** link_to(const key_view& k) noexcept;  // what points to it, or to nothing
        void insert(loose_frame f);
        loose_frame extract(entry** link) noexcept;
        void each(const std::function<void(const entry&)>& visit) const;
        void extract_if(const std::function<bool(const entry&)>& which, std::vector<loose_frame>& into);
        std::size_t size() const noexcept { return size_; }

    private:
        entry*& bucket(std::size_t mixed) noexcept { return buckets_[mixed / 16 & (buckets_.size() - 1)]; }
        void grow();

        std::vector<entry*> buckets_ = std::vector<entry*>(4);  // a power of two
        std::size_t size_ = 0;
    };
    struct shard {
        std::mutex mutex;
        table frames;
        // Of frames, as of the last change. Whoever has one here reads no zero: its own insertion came before, and its
        // own removal comes after.
        std::atomic<std::size_t> count{0};

        void counted() noexcept { count.store(frames.size(), std::memory_order_relaxed); }
    };
    shard& shard_of(const key_view& k) noexcept { return shards_[k.mixed % shards_.size()]; }

    std::array<shard, 16> shards_;
};

}  // namespace mortise::inline v0::core
