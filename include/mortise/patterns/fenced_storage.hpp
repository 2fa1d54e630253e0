// Where the patterns keep their data: the caller's cache or database, behind three functions.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0 {

// Bytes under a key that only the latest holder of a lock can change. Implement it over what you already run: a cache,
// a table with a fence column, files. docs/fencing.md has the statements for SQL and for Redis; examples/patterns has a
// Redis adapter.
//
// Each key has a *seal*: the largest token that seal() was called with. A write counts only if the seal is exactly the
// writer's token, so whoever was replaced writes nothing, and neither does anybody whose seal was evicted. A storage may
// therefore forget any key at any time, seal included.
//
// The functions may be called from any thread. They report failures by throwing; a write that throws may have been made.
class MORTISE_API fenced_storage {
public:
    struct entry {
        std::string bytes{};
        std::chrono::nanoseconds age{};  // since it was written, by the storage's own clock
        bool settled = true;             // false: somebody has sealed the key since, and may be changing it
    };

    fenced_storage() = default;
    fenced_storage(const fenced_storage&) = delete;
    fenced_storage& operator=(const fenced_storage&) = delete;
    virtual ~fenced_storage();

    // What was written last. Nothing: no value, never written, or no longer kept.
    virtual std::optional<entry> read(std::string_view key) = 0;

    // Raises the seal to `mine`, and keeps the value. Returns false, and does nothing, if the seal is larger.
    [[nodiscard]] virtual bool seal(std::string_view key, token mine) = 0;

    // Returns false, and writes nothing, if the seal is not `mine`. The value may be forgotten after `keep`.
    [[nodiscard]] virtual bool write(std::string_view key, token mine, std::string_view bytes,
                                     std::chrono::nanoseconds keep) = 0;
};

// For threads of one process, tests and examples.
class MORTISE_API memory_storage final : public fenced_storage {
public:
    std::optional<entry> read(std::string_view key) override;
    [[nodiscard]] bool seal(std::string_view key, token mine) override;
    [[nodiscard]] bool write(std::string_view key, token mine, std::string_view bytes,
                             std::chrono::nanoseconds keep) override;
    void forget(std::string_view key);  // as a cache does that needs room

private:
    struct record {
        token sealed{};
        token written_by{};
        std::string bytes{};
        boot_clock::time_point written{};
        std::chrono::nanoseconds keep{};
    };

    std::mutex mutex_;
    std::map<std::string, record, std::less<>> all_;
};

}  // namespace mortise::inline v0
