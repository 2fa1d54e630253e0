// The smallest protocol: lines that are answered in order, and pushes, which begin with "!".
#pragma once

#include "net/channel.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace mortise::testing {

struct line_answer {
    bool failed = false;
    std::string text{};    // or why
    std::thread::id by{};  // the thread that read it
};

struct line_habits {
    bool greets = false;   // the first line is its own, and it is up when that is answered
    bool returns = false;  // connects again even if nobody uses it
    std::chrono::nanoseconds timeout = std::chrono::seconds{30};
    std::function<void(const line_answer&)> pushed{};
    std::function<void(const net::trouble&)> broke{};
};

class line_channel final : public net::channel {
public:
    using handler = std::function<void(const line_answer&)>;

    line_channel(std::uint16_t port, line_habits how, spi::clock& clock, net::poller& sockets)
        : channel({.where = {"127.0.0.1", port}, .timeout = how.timeout}, clock, sockets), how_(std::move(how)) {}

    void send(const std::string& question, handler done) {
        lock held{mutex_};
        if (is_ == state::closed) return;
        connect_if_due();
        if (is_ == state::down) {
            const line_answer why{.failed = true, .text = last_.what};
            held.unlock();
            return done(why);
        }
        out_ += question + "\n";
        pending_.push_back({std::move(done), clock_.now()});
        tick_later();
        send_out(held);
        have_read(!waits_soon());
    }

    // As a blocking caller does.
    line_answer ask(const std::string& question) {
        spi::sleeper who;
        return ask(question, who);
    }
    line_answer ask(const std::string& question, spi::sleeper& who) {
        line_answer got;
        will_wait(true);
        send(question, [&](const line_answer& said) {
            got = said;
            wake(who);
        });
        wait(who);
        return got;
    }
    void wake(spi::sleeper& who) noexcept {
        if (who.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
            who.is.notify_one();
        } else {
            nudge(who);
        }
    }

private:
    struct pending {
        handler done;
        spi::time_point sent;
    };

    void established(lock& held) override {
        if (!how_.greets) return came_up(held);
        is_ = state::greeting;
        transport_->write("hello\n");
    }
    bool answers_due() const override { return !pending_.empty(); }
    void look_for_late(lock&) override {
        if (is_ == state::up && !pending_.empty() && clock_.now() - pending_.front().sent >= how_.timeout)
            doom(silence());
    }
    void lost(lock& held) override {
        if (how_.returns) try_again_later();
        in_.clear();
        const net::trouble why = last_;
        std::deque<pending> gone;
        gone.swap(pending_);
        held.unlock();
        for (pending& one : gone) one.done({.failed = true, .text = why.what, .by = std::this_thread::get_id()});
        gone.clear();
        if (how_.broke) how_.broke(why);
        held.lock();
    }
    void forget(lock& held) noexcept override {
        std::deque<pending> gone;
        gone.swap(pending_);
        held.unlock();
    }

    std::span<char> space() override { return room_; }
    bool took(const transport_ptr& from, std::size_t bytes) override {
        std::size_t looked = in_.size();
        in_.append(room_.data(), bytes);
        for (std::size_t end = 0; (end = in_.find('\n', looked)) != std::string::npos; looked = 0) {
            const line_answer said{.text = in_.substr(0, end), .by = std::this_thread::get_id()};
            in_.erase(0, end + 1);
            if (said.text.starts_with('!')) {
                if (how_.pushed) how_.pushed(said);
                continue;
            }
            lock held{mutex_};
            if (from != transport_) return false;
            proven();
            if (is_ == state::greeting) {
                came_up(held);
                continue;
            }
            if (pending_.empty()) {
                broke(held, {.what = "answered what it was not asked"});
                return false;
            }
            const handler done = std::move(pending_.front().done);
            pending_.pop_front();
            held.unlock();
            done(said);
        }
        return true;
    }

    const line_habits how_;
    std::deque<pending> pending_;
    std::array<char, 4096> room_{};  // of whoever reads
    std::string in_;                 // likewise
};

}  // namespace mortise::testing
