#include "stores/etcd/grpc_session.hpp"

#include "base/immortal.hpp"
#include "base/percent.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <nghttp2/nghttp2.h>

namespace mortise::inline v0::stores::etcd {
namespace {

constexpr std::size_t prefix_size = 5;  // of a message: compressed or not, and its length
constexpr std::int32_t window_of_stream = 4 << 20;
constexpr std::int32_t window_of_all = 16 << 20;
constexpr std::uint32_t longest_headers = 16 << 10;
constexpr std::size_t longest_text = 1000;

nghttp2_nv field(std::string_view name, std::string_view value, std::uint8_t flags = NGHTTP2_NV_FLAG_NONE) {
    const auto bytes = [](std::string_view text) {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

template <class Number>
std::optional<Number> whole(std::string_view text) {
    Number n{};
    const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return n;
}

// An answer that did not come from gRPC, but from what stands before it.
int code_of_http(int status) {
    switch (status) {
        case 401:
            return ending::unauthenticated;
        case 403:
            return ending::permission_denied;
        case 404:
            return ending::unimplemented;
        case 429:
        case 502:
        case 503:
        case 504:
            return ending::unavailable;
        default:
            return ending::not_known;
    }
}

ending reset_by(std::uint32_t error) {
    if (error == NGHTTP2_REFUSED_STREAM)
        return {.code = ending::unavailable, .text = "it takes no more requests", .untouched = true};
    return {.code = error == NGHTTP2_CANCEL ? ending::cancelled : ending::unavailable,
            .text = std::string("the request was cut off: ") + nghttp2_http2_strerror(error)};
}

}  // namespace

struct grpc_session::stream {
    std::string to_say{};  // with prefixes
    std::size_t reply = 0;
    bool last = false;     // nothing follows to_say
    bool waiting = false;  // nghttp2 waits to be told that there is more
    std::string heard{};   // a message, or its beginning
    int http_status = 0;
    std::optional<int> grpc_status{};
    std::string grpc_message{};
};

// nghttp2 is C: no exception may go through it, and none but bad_alloc could.
struct grpc_session::calls_from_below {
    static grpc_session& self(void* user) { return *static_cast<grpc_session*>(user); }
    static std::string_view text(const std::uint8_t* bytes, std::size_t size) {
        return {reinterpret_cast<const char*>(bytes), size};
    }

    static int data(nghttp2_session*, std::uint8_t, std::int32_t which, const std::uint8_t* bytes, std::size_t size,
                    void* user) noexcept {
        self(user).data(which, text(bytes, size));
        return 0;
    }
    static int header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t size, std::uint8_t, void* user) noexcept {
        self(user).header(frame->hd.stream_id, text(name, name_size), text(value, size));
        return 0;
    }
    static int frame(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
        if (frame->hd.type == NGHTTP2_GOAWAY) self(user).going_ = true;
        const bool ends = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
        if (ends && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self(user).finished(frame->hd.stream_id);
        return 0;
    }
    static int closed(nghttp2_session*, std::int32_t which, std::uint32_t error, void* user) noexcept {
        self(user).closed(which, error);
        return 0;
    }
    // We never say goodbye ourselves: nghttp2 does when it has had enough.
    static int sent(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
        if (frame->hd.type == NGHTTP2_GOAWAY) self(user).broken_ = true;
        const bool answers_ping = frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
        if (!answers_ping) self(user).hurries_ = true;
        return 0;
    }
    static int complaint(nghttp2_session*, int, const char* words, std::size_t size, void* user) noexcept {
        self(user).why_.assign(words, std::min(size, longest_text));
        return 0;
    }
    static ssize_t more_to_say(nghttp2_session*, std::int32_t which, std::uint8_t* into, std::size_t room,
                               std::uint32_t* flags, nghttp2_data_source*, void* user) noexcept {
        stream* const one = self(user).find(which);
        if (one == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        const std::size_t n = std::min(room, one->to_say.size() - one->reply);
        std::memcpy(into, one->to_say.data() + one->reply, n);
        one->reply += n;
        const bool all = one->reply == one->to_say.size();
        if (all && one->last) *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (n == 0 && !one->last) {
            one->waiting = true;
            return NGHTTP2_ERR_DEFERRED;
        }
        if (all) {
            one->to_say.clear();
            one->reply = 0;
        }
        return static_cast<ssize_t>(n);
    }

    static const nghttp2_session_callbacks* all() {
        constexpr auto drop = [](nghttp2_session_callbacks* made) { nghttp2_session_callbacks_del(made); };
        static constinit base::made_once<nghttp2_session_callbacks, decltype(drop)> made;
        return made([=] {
            nghttp2_session_callbacks* to = nullptr;
            if (nghttp2_session_callbacks_new(&to) != 0) throw std::bad_alloc{};
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, &data);
            nghttp2_session_callbacks_set_on_header_callback(to, &header);
            nghttp2_session_callbacks_set_on_frame_recv_callback(to, &frame);
            nghttp2_session_callbacks_set_on_stream_close_callback(to, &closed);
            nghttp2_session_callbacks_set_on_frame_send_callback(to, &sent);
            nghttp2_session_callbacks_set_error_callback2(to, &complaint);
            return std::unique_ptr<nghttp2_session_callbacks, decltype(drop)>{to};
        });
    }
};

grpc_session::grpc_session(std::string authority, bool tls) : authority_(std::move(authority)), tls_(tls) {
    if (nghttp2_session_client_new(&session_, calls_from_below::all(), this) != 0) throw std::bad_alloc{};
    const std::array settings{nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                              nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window_of_stream},
                              nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, longest_headers}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window_of_all);
}

grpc_session::~grpc_session() {
    nghttp2_session_del(session_);
}

grpc_session::stream* grpc_session::find(number which) {
    const auto it = streams_.find(which);
    return it == streams_.end() ? nullptr : it->second.get();
}

grpc_session::number grpc_session::begin(const char* method, const std::string& token,
                                         std::optional<spi::duration> timeout) {
    const std::string time = timeout ? grpc_timeout(*timeout) : std::string{};
    std::array<nghttp2_nv, 9> fields{field(":method", "POST"),
                                     field(":scheme", tls_ ? "https" : "http"),
                                     field(":path", method),
                                     field(":authority", authority_),
                                     field("te", "trailers"),
                                     field("content-type", "application/grpc"),
                                     field("hasleader", "true"),  // better an error than silence
                                     {},
                                     {}};
    std::size_t n = 7;
    if (timeout) fields[n++] = field("grpc-timeout", time);
    if (!token.empty()) fields[n++] = field("token", token, NGHTTP2_NV_FLAG_NO_INDEX);
    nghttp2_data_provider words{.source = {.ptr = nullptr}, .read_callback = &calls_from_below::more_to_say};
    const std::int32_t made = nghttp2_submit_request(session_, nullptr, fields.data(), n, &words, nullptr);
    if (made <= 0) return 0;
    streams_.emplace(made, std::make_unique<stream>());
    return made;
}

void grpc_session::say(number which, std::string_view message, bool last) {
    stream* const to = find(which);
    if (to == nullptr || to->last) return;
    const auto size = static_cast<std::uint32_t>(message.size());
    const std::array prefix{'\0', static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                            static_cast<char>(size >> 8), static_cast<char>(size)};
    to->to_say.append(prefix.data(), prefix.size());
    to->to_say += message;
    to->last = last;
    if (std::exchange(to->waiting, false)) nghttp2_session_resume_data(session_, which);
}

void grpc_session::cancel(number which) {
    if (streams_.erase(which) > 0) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, which, NGHTTP2_CANCEL);
}

void grpc_session::ping() {
    nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

// Answers to pings last: until it has one, etcd sends no other ping, whatever it is asked.
void grpc_session::take_out(std::string& to) {
    if (!hurries_) {
        drain(to);
        to += queued_;
    } else {
        to += queued_;
        drain(to);
    }
    queued_.clear();
    hurries_ = false;
}

void grpc_session::drain(std::string& to) {
    while (true) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t n = nghttp2_session_mem_send(session_, &bytes);
        if (n < 0) broken_ = true;
        if (n <= 0) return;
        to.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    }
}

bool grpc_session::take_in(std::string_view bytes, std::vector<event>& into) {
    if (broken_) return false;
    into_ = &into;
    const ssize_t n =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (n < 0) {
        if (why_.empty()) why_ = nghttp2_strerror(static_cast<int>(n));
        broken_ = true;
    } else {
        drain(queued_);  // if nghttp2 has had enough, it shows here
    }
    into_ = nullptr;
    return !broken_;
}

void grpc_session::data(number which, std::string_view bytes) {
    stream* const of = find(which);
    if (of == nullptr || of->http_status != 200) return;  // a page for people
    of->heard += bytes;
    std::size_t at = 0;
    while (of->heard.size() - at >= prefix_size) {
        const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(of->heard[at + i]); };
        const std::size_t size =
            std::size_t{byte(1)} << 24 | std::size_t{byte(2)} << 16 | std::size_t{byte(3)} << 8 | std::size_t{byte(4)};
        if (byte(0) != 0 || size > longest_message) {
            const bool compressed = byte(0) != 0;
            nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, which, NGHTTP2_CANCEL);
            return end(which, {.code = compressed ? ending::internal : ending::resource_exhausted,
                               .text = compressed ? "an answer is compressed, which was not asked for"
                                                  : "an answer is longer than 64 MiB"});
        }
        if (of->heard.size() - at < prefix_size + size) break;
        into_->push_back({.stream = which, .message = of->heard.substr(at + prefix_size, size)});
        at += prefix_size + size;
    }
    of->heard.erase(0, at);
}

void grpc_session::header(number which, std::string_view name, std::string_view value) {
    stream* const of = find(which);
    if (of == nullptr) return;
    if (name == ":status") of->http_status = whole<int>(value).value_or(0);
    if (name == "grpc-status") of->grpc_status = whole<int>(value).value_or(ending::not_known);
    if (name == "grpc-message") of->grpc_message = base::percent_decoded_leniently(value.substr(0, longest_text));
}

// The other side has said all it will.
void grpc_session::finished(number which) {
    stream* const of = find(which);
    if (of == nullptr) return;
    ending how{.code = of->grpc_status.value_or(ending::not_known), .text = std::move(of->grpc_message)};
    if (!of->grpc_status) {
        how.code = of->http_status == 200 ? static_cast<int>(ending::internal) : code_of_http(of->http_status);
        how.text = "answered without a status of gRPC, and with HTTP's " + std::to_string(of->http_status);
    }
    if (!of->last || of->reply != of->to_say.size())
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, which, NGHTTP2_CANCEL);
    end(which, std::move(how));
}

void grpc_session::closed(number which, std::uint32_t error) {
    if (find(which) != nullptr) end(which, reset_by(error));
}

void grpc_session::end(number which, ending how) {
    streams_.erase(which);
    if (into_ != nullptr) into_->push_back({.stream = which, .over = true, .end = std::move(how)});
}

std::string grpc_timeout(spi::duration time) {
    using std::chrono::duration_cast;
    const auto ms = std::max<std::int64_t>(1, duration_cast<std::chrono::milliseconds>(time).count());
    return ms < 100'000'000 ? std::to_string(ms) + "m"
                            : std::to_string(std::min<std::int64_t>(ms / 1000, 99'999'999)) + "S";
}

}  // namespace mortise::inline v0::stores::etcd
