// A cache that never shows what was overwritten.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/patterns/fenced_storage.hpp>
#include <mortise/patterns/text.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::inline v0 {

struct consistency_options {
    // How long the cache keeps a value.
    std::chrono::nanoseconds keep = std::chrono::hours{1};

    // How long this client may answer from its own memory after it has read a value: it keeps the read lock meanwhile, so
    // writers wait that long for it. Zero: every read asks the cache. At least 100 ms otherwise.
    std::chrono::nanoseconds local_for{};

    // How long a call waits for the key's lock. Unset: for ever. Then errc::timed_out is thrown.
    std::optional<std::chrono::nanoseconds> wait{};
};

// Reads through a cache and writes through to a database, so that no read returns an older value than one whose write has
// been acknowledged before the read began: also if a reader or writer is paused for longer than its lease.
//
//     mortise::consistent_cache<std::string> prices{locks, cache, database, "prices"};
//     prices.put("tea", "3.20");
//     std::optional<std::string> price = prices.get("tea");
//
// A hit takes no lock. A miss takes the read lock of the key, seals both storages, reads the database and fills the cache;
// a write takes the write lock, seals both, writes the database and then the cache. Whoever was replaced meanwhile finds a
// larger seal and changes nothing. All writes must come through this class, or through something that seals as it does.
//
// Needs a store with fencing tokens and shared locks; the constructor throws errc::unsupported otherwise. All members may
// be called from any thread; it is destroyed when no call is inside. The client and the storages must outlive it.
//
// When not to use it: docs/consistent_cache.md.
class MORTISE_API write_through {
public:
    write_through(client& locks, fenced_storage& cache, fenced_storage& database, std::string name,
                  consistency_options options = {});
    ~write_through();
    write_through(const write_through&) = delete;
    write_through& operator=(const write_through&) = delete;

    // Throws mortise::error if the lock or a storage cannot be had.
    std::optional<std::string> get(std::string_view key);

    // Returns when the database has it. Throws errc::lost if a later writer took over: nothing was written. Any other
    // exception: the value may have been written, and the next reader finds out.
    void put(std::string_view key, std::optional<std::string> value);

    // Reads and writes under one lock. `make` must not ask for the same key (errc::would_deadlock). If it asks for others,
    // all who do so must go in one order, as with any two locks.
    using change = unique_function<std::optional<std::string>(std::optional<std::string>)>;
    void update(std::string_view key, change make);

private:
    struct body;
    std::unique_ptr<body> body_;
};

// The same for values of a type.
template <class T, class Text = text<T>>
class consistent_cache {
public:
    consistent_cache(client& locks, fenced_storage& cache, fenced_storage& database, std::string name,
                     consistency_options options = {})
        : bytes_(locks, cache, database, std::move(name), options) {}

    std::optional<T> get(std::string_view key) { return read(bytes_.get(key)); }
    void put(std::string_view key, const T& value) { bytes_.put(key, Text::write(value)); }
    void erase(std::string_view key) { bytes_.put(key, std::nullopt); }

    // `make` is given the value, or nothing, and returns the new one.
    template <class Make>
    void update(std::string_view key, Make&& make) {
        bytes_.update(key, [&](const std::optional<std::string>& before) { return write(make(read(before))); });
    }

private:
    static std::optional<T> read(const std::optional<std::string>& bytes) {
        if (!bytes) return std::nullopt;
        return Text::read(*bytes);
    }
    static std::optional<std::string> write(const std::optional<T>& value) {
        if (!value) return std::nullopt;
        return Text::write(*value);
    }

    write_through bytes_;
};

}  // namespace mortise::inline v0
