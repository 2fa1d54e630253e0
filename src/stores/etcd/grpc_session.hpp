// gRPC over HTTP/2 without a connection: bytes in, bytes out. nghttp2 knows the frames; this knows what gRPC puts into them.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct nghttp2_session;

namespace mortise::inline v0::stores::etcd {

// How a call or a stream ended.
struct ending {
    // The codes of gRPC that mean something to us.
    enum : int {
        ok = 0,
        cancelled = 1,
        not_known = 2,
        invalid_argument = 3,
        deadline_exceeded = 4,
        not_found = 5,
        permission_denied = 7,
        resource_exhausted = 8,
        failed_precondition = 9,
        unimplemented = 12,
        internal = 13,
        unavailable = 14,
        unauthenticated = 16,
    };
    int code = unavailable;
    std::string text{};
    bool untouched = false;  // the other side proved that it did nothing with it, or it was never sent
    bool hopeless = false;   // another try would end likewise: a certificate, a name
    bool unmet = false;      // nobody was there
};

// The client's side of one connection. One thread at a time. It believes nothing: whatever bytes come in, the worst is that they
// are called broken.
class grpc_session {
public:
    using number = std::int32_t;  // of a stream

    static constexpr std::size_t longest_message = std::size_t{64} << 20;

    struct event {
        number stream = 0;
        bool over = false;      // it has ended, and `end` says how; else `message` came
        std::string message{};  // without gRPC's prefix
        ending end{};
    };

    grpc_session(std::string authority, bool tls);
    ~grpc_session();
    grpc_session(const grpc_session&) = delete;
    grpc_session& operator=(const grpc_session&) = delete;

    // Zero: this connection has no more numbers to give.
    number begin(const char* method, const std::string& token, std::optional<spi::duration> timeout);
    void say(number stream, std::string_view message, bool last);
    // Nothing more is heard of it.
    void cancel(number stream);
    void ping();

    // What is to be sent is added to `to`.
    void take_out(std::string& to);
    // What came. False: it is HTTP/2 no longer, and why() says more.
    bool take_in(std::string_view bytes, std::vector<event>& into);
    // What that made it say is to be taken out: at once, or, if it only answers pings, in a moment.
    bool hurries() const noexcept { return hurries_; }
    bool answers_pings() const noexcept { return !hurries_ && !queued_.empty(); }

    bool going() const noexcept { return going_; }  // the other side wants no more on this connection
    const std::string& why() const noexcept { return why_; }

private:
    struct stream;
    struct calls_from_below;

    stream* find(number which);
    void drain(std::string& to);
    void data(number which, std::string_view bytes);
    void header(number which, std::string_view name, std::string_view value);
    void finished(number which);
    void closed(number which, std::uint32_t error);
    void end(number which, ending how);

    const std::string authority_;
    const bool tls_;
    nghttp2_session* session_ = nullptr;
    std::unordered_map<number, std::unique_ptr<stream>> streams_;
    std::vector<event>* into_ = nullptr;
    std::string queued_;    // to be sent
    bool hurries_ = false;  // there is more in it than answers to pings
    bool going_ = false;
    bool broken_ = false;
    std::string why_;
};

// For a header: at most eight digits and a unit.
std::string grpc_timeout(spi::duration time);

}  // namespace mortise::inline v0::stores::etcd
