// What is said over a channel. Each store's connection provides it.
#pragma once

#include "net/transport.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace mortise::inline v0::net {

class protocol {
protected:
    using lock = std::unique_lock<std::mutex>;  // of the channel's mutex
    using transport_ptr = std::shared_ptr<transport>;

    protocol() = default;
    ~protocol() = default;

    // Called with the mutex held. Functions that get the lock may release it meanwhile, and call others then.
    //
    // The line is established, and this thread reads: greets, or calls channel::came_up().
    virtual void established(lock& held) = 0;
    // Appends what is to be sent. A protocol may also put it into channel::out_ itself.
    virtual void take_out(std::string& to);
    // A request has not been answered.
    virtual bool answers_due() const = 0;
    // Called now and then while answers are due, to check whether they are late.
    virtual void look_for_late(lock& held) = 0;
    // The connection broke, and channel::last_ says why: all pending requests have failed.
    virtual void lost(lock& held) = 0;
    // The channel is closed: drops all pending requests without the mutex, and calls nobody.
    virtual void forget(lock& held) noexcept = 0;

    // Called by the thread that reads, without the mutex.
    //
    // The buffer to read into.
    virtual std::span<char> space() = 0;
    // This many bytes were read. Returns false if that line is gone.
    virtual bool took(const transport_ptr& from, std::size_t bytes) = 0;
};

}  // namespace mortise::inline v0::net
