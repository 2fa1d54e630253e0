// A server that answers with made-up bytes, and a client that takes it for a store.
//
// The input is cut into answers at `between`. Whenever the client has said something, it gets the next; a server that `greets` says
// something first on every connection. When there are no more, connections are closed. Whatever comes, the client's calls return.
#pragma once

#include "support/loopback.hpp"

#include <mortise/client.hpp>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace mortise::fuzzing {

class hostile_server {
public:
    static constexpr std::string_view between = "\x1d<>\x1d";
    enum class manners { waits, greets };

    explicit hostile_server(manners of);
    ~hostile_server();

    std::uint16_t port() const noexcept { return port_; }
    void answer_from(std::string_view input);

private:
    struct guest {
        testing::socket_handle socket;
        bool greeted = false;
    };
    void serve(const std::stop_token& stop);
    void admit();
    bool heard(guest& from);
    bool answer(const guest& to);

    const manners manners_;
    testing::socket_handle door_;
    testing::socket_handle bell_[2];  // to the serving thread: there is a new input
    std::uint16_t port_ = 0;
    std::mutex mutex_;
    std::string input_;
    std::size_t next_ = std::string::npos;
    std::vector<guest> guests_;
    std::jthread serving_;
};

// Claims, waits, lists, breaks and releases at the store that this input pretends to be. `address`: with %p for the port. With
// MORTISE_FUZZ_STORE=URL it speaks to a real one instead, so that the conversation can be recorded (fuzz/record).
void drive(std::string_view input, const std::string& address, hostile_server::manners manners);

}  // namespace mortise::fuzzing
