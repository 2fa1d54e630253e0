// Calls and streams over one socket to one member. Who writes and who reads is net::channel's.
//
// It connects when it is used, and again after a pause when it broke. What was on its way then ends with the trouble; whether it
// took effect is not known, unless the member proved that it did not.
#pragma once

#include "net/channel.hpp"
#include "stores/etcd/grpc_session.hpp"
#include "stores/etcd/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// A call, which has a time and one answer; or a stream, which has neither. Replies come with no lock held.
struct exchange {
    const char* method = nullptr;
    std::string token{};
    std::optional<spi::duration> timeout{};                                   // of a call
    std::string_view request{};                                               // kept by `ended`
    unique_function<void(const std::string&)> heard{};                        // of a stream: not two at a time
    unique_function<void(const ending&, const std::string& answer)> ended{};  // once, and the last
};

class connection final : public net::channel {
public:
    using ticket = std::uint64_t;

    connection(settings how, net::endpoint where, spi::clock& clock, net::poller& sockets);

    ticket begin(exchange what);
    void say(ticket which, std::string message);
    void drop(ticket which);  // nothing more is heard of it, but for what is being said right now

private:
    struct pending {
        exchange what;
        grpc_session::number stream = 0;  // 0: not sent yet
        spi::time_point begun{};
        std::optional<std::string> answer{};
        std::vector<std::string> unsaid{};  // of a stream that has not begun
    };
    using shared_pending = std::shared_ptr<pending>;

    // With the mutex held.
    void established(lock& held) override;
    void take_out(std::string& to) override { session_->take_out(to); }
    bool answers_due() const override { return calls_ > 0; }
    void look_for_late(lock& held) override;
    void lost(lock& held) override;
    void forget(lock& held) noexcept override;
    void put_forward(ticket which, pending& one);
    void look_after_later();
    void answer_pings_later();

    // Without it.
    std::span<char> space() override { return *room_; }
    bool took(const transport_ptr& from, std::size_t bytes) override;
    void look_after();

    const settings settings_;

    std::optional<grpc_session> session_;
    ticket last_ticket_ = 0;
    std::map<ticket, shared_pending> pending_;  // in the order they came
    std::size_t calls_ = 0;                     // of these
    std::unordered_map<grpc_session::number, ticket> by_stream_;
    spi::time_point heard_{};
    std::optional<spi::time_point> pinged_{};
    bool looking_after_ = false;
    bool answering_pings_ = false;  // later

    std::unique_ptr<std::array<char, 65536>> room_;  // of whoever reads
    std::vector<grpc_session::event> events_;        // likewise
};

}  // namespace mortise::inline v0::stores::etcd
