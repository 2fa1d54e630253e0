// One rebuild for the whole fleet.
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

struct flight_options {
    // How long a value is fresh, and how long the knowledge that there is none.
    std::chrono::nanoseconds fresh_for = std::chrono::minutes{1};
    std::chrono::nanoseconds nothing_for = std::chrono::seconds{5};

    // For how long after that the old value is still served while one caller rebuilds. Zero: callers wait.
    std::chrono::nanoseconds stale_for{};

    // The last part of fresh_for, 0 to 1, in which a caller may rebuild ahead of time: the older the value, the likelier.
    double early = 0;

    // A rebuild that takes longer is given up for lost, and the next caller begins; the late value is refused.
    std::chrono::nanoseconds rebuild_within = std::chrono::seconds{10};

    // How long a caller waits for somebody else's rebuild. Unset: for ever. Then errc::timed_out is thrown.
    std::optional<std::chrono::nanoseconds> wait{};
};

// Keeps a crowd off the backend: when a cached value is missing or too old, one caller in the whole fleet rebuilds it, and
// the others wait and read what it stored.
//
//     mortise::single_flight pages{locks, cache, "pages"};
//     std::optional<std::string> page = pages.get("front", [&] { return render("front"); });
//
// A rebuilder that dies, throws, or takes longer than rebuild_within is replaced. One that was paused and comes late
// cannot store its old value (fenced_storage).
//
// Needs a store with fencing tokens, shared locks and leases; the constructor throws errc::unsupported otherwise. All
// members may be called from any thread; it is destroyed when no call is inside. The client and the cache must outlive it.
//
// When not to use it: docs/single_flight.md.
class MORTISE_API single_flight {
public:
    // Returns the value, or nothing if there is none; that is remembered too.
    using rebuild = unique_function<std::optional<std::string>()>;

    single_flight(client& locks, fenced_storage& cache, std::string name, flight_options options = {});
    ~single_flight();
    single_flight(const single_flight&) = delete;
    single_flight& operator=(const single_flight&) = delete;

    // The cached value, or what `make` returns. What `make` throws goes to this caller only; the next one tries again.
    // `make` must not ask for the same key, nor invalidate it (errc::would_deadlock). Throws errc::lost if `make` was too
    // late three times, and errc::timed_out after flight_options::wait.
    std::optional<std::string> get(std::string_view key, rebuild make);

    // Forgets the value: whoever asks after it returns gets one that was rebuilt after it was called. It waits for a
    // rebuild that is under way.
    void invalidate(std::string_view key);

private:
    struct body;
    std::unique_ptr<body> body_;
};

// The same for values of a type.
template <class T, class Text = text<T>>
class cached {
public:
    cached(client& locks, fenced_storage& cache, std::string name, flight_options options = {})
        : flights_(locks, cache, std::move(name), options) {}

    template <class Make>
    std::optional<T> get(std::string_view key, Make&& make) {
        const std::optional<std::string> bytes = flights_.get(key, [&]() -> std::optional<std::string> {
            const std::optional<T> made = make();
            if (!made) return std::nullopt;
            return Text::write(*made);
        });
        if (!bytes) return std::nullopt;
        return Text::read(*bytes);
    }

    void invalidate(std::string_view key) { flights_.invalidate(key); }

private:
    single_flight flights_;
};

}  // namespace mortise::inline v0
