// What the tests of net::channel share: a server, a client's clock and poller, and channels between them.
#pragma once

#include "core/io_clock.hpp"
#include "echo_server.hpp"
#include "line_channel.hpp"
#include "support/waiting.hpp"

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {

using namespace std::chrono_literals;

class channels : public ::testing::Test {
protected:
    ~channels() override {
        for (const auto& one : made_) one->close();
        sockets_.stop();
        clock_.stop();
    }

    std::shared_ptr<line_channel> channel(line_habits how = {}) {
        made_.push_back(std::make_shared<line_channel>(server_.port(), std::move(how), clock_, sockets_));
        return made_.back();
    }
    std::shared_ptr<line_channel> channel_that_is_up(line_habits how = {}) {
        auto made = channel(std::move(how));
        EXPECT_EQ(made->ask("first").text, "first");
        return made;
    }

    // A caller that waits for nothing in particular, and so reads for all until it is woken. It does when this is made.
    class reader {
    public:
        explicit reader(std::shared_ptr<line_channel> on)
            : on_(std::move(on)), thread_([this] { on_->wait(who_); }), id_(thread_.get_id()) {
            // Only a line that is answered there shows that it reads.
            EXPECT_TRUE(eventually([this] {
                std::promise<std::thread::id> by;
                on_->send("who reads?", [&](const line_answer& said) { by.set_value(said.by); });
                return by.get_future().get() == id_;
            }));
        }
        ~reader() { wake(); }
        std::thread::id id() const { return id_; }
        void wake() {
            if (!thread_.joinable()) return;
            on_->wake(who_);
            thread_.join();
        }

    private:
        std::shared_ptr<line_channel> on_;
        spi::sleeper who_;
        std::thread thread_;
        std::thread::id id_;
    };

    echo_server server_;
    core::io_clock clock_;
    net::poller sockets_{clock_};

private:
    std::vector<std::shared_ptr<line_channel>> made_;
};

}  // namespace mortise::testing
