// Who, inside this process, is inside which lock.
#pragma once

#include <mortise/config.hpp>
#include <mortise/hold.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::core {

// Names an owner: a thread, or an explicit mortise::owner.
using owner_key = std::uint64_t;

// Never repeats, unlike std::thread::id, which the next thread may inherit with all the locks the last one forgot.
owner_key this_thread_key() noexcept;

// One frame per (name, owner) of a client, whichever mutex objects were used. An owner is one line of execution, so a
// frame is only ever touched by its owner; the mutex guards the table.
class reentry {
public:
    struct frame {
        mortise::hold hold;
        const void* through = nullptr;  // the object that locked first
        unsigned depth = 1;
        bool recursive = false;
    };

    frame* find(std::string_view name, owner_key who) noexcept;  // good until erased
    void insert(std::string_view name, owner_key who, frame f);
    frame extract(std::string_view name, owner_key who) noexcept;

    // What was locked through an object that goes away: handed back to the caller to be released.
    std::vector<frame> extract_through(const void* object);

private:
    struct key {
        std::string name;
        owner_key who;
    };
    struct key_view {
        std::string_view name;
        owner_key who;
    };
    struct same {
        using is_transparent = void;
        static std::size_t mix(std::string_view name, owner_key who) noexcept {
            return std::hash<std::string_view>{}(name) ^ (who * 0x9e3779b97f4a7c15u);
        }
        std::size_t operator()(const auto& k) const noexcept { return mix(k.name, k.who); }
        bool operator()(const auto& a, const auto& b) const noexcept { return a.who == b.who && a.name == b.name; }
    };
    struct shard {
        std::mutex mutex;
        std::unordered_map<key, frame, same, same> frames;
    };
    shard& shard_of(const key_view& k) noexcept { return shards_[same::mix(k.name, k.who) % shards_.size()]; }

    std::array<shard, 16> shards_;
};

}  // namespace mortise::inline v0::core
