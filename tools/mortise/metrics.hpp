// --metrics PORT: what the locks of this process do, as Prometheus reads it, on the loopback address.
#pragma once

#include "arguments.hpp"
#include "descriptor.hpp"

#include <mortise/client.hpp>
#include <mortise/observer.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace command {

// Counts events. May be read while they come in.
class metrics final : public mortise::observer {
public:
    void on_event(const mortise::event& what) override;

    // The text of a page. `depth`: how many wait for the name, where that is known.
    std::string text(const std::string& name, std::optional<std::size_t> depth) const;

private:
    static constexpr std::array<double, 8> bounds{0.001, 0.01, 0.1, 1, 10, 60, 600, 3600};

    mutable std::mutex mutex_;
    std::array<std::uint64_t, 9> events_{};  // by event_kind
    std::array<std::uint64_t, bounds.size() + 1> waits_{};
    double waited_ = 0;
    double slack_ = 0;  // left at the last renewal
};

// Answers whoever asks, in a thread of its own, for as long as the process lives.
class metrics_page {
public:
    // Throws failure(unavailable) if the port is taken.
    explicit metrics_page(std::uint16_t port);

    const std::shared_ptr<metrics>& counts() const { return counts_; }
    void serve(std::shared_ptr<mortise::client> locks, std::string name);

private:
    descriptor listener_;
    std::shared_ptr<metrics> counts_ = std::make_shared<metrics>();
};

inline constexpr option metrics_option{0, "metrics", "PORT", "figures for Prometheus on 127.0.0.1:PORT"};

// What --metrics asks for; nothing if it is not given. Throws failure(usage).
std::optional<std::uint16_t> metrics_port_of(const arguments& given);

mortise::client_options observed_by(const std::optional<metrics_page>& page);

}  // namespace command
