#include "stores/etcd/members.hpp"

#include "base/spare_blocks.hpp"
#include "stores/etcd/connection.hpp"
#include "stores/etcd/grpc_stream.hpp"
#include "stores/etcd/rpc.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

// Of those that are asked in turn: more would not be answered sooner, and fewer if even these are not answered in time.
constexpr double most_in_turn = 128;
constexpr double least_in_turn = 4;

// One that was asked.
struct call {
    std::size_t member = 0;
    bool pinned = false;      // to that member
    bool harmless = false;    // it may be done twice
    bool readmitted = false;  // its token was not accepted once
    bool in_turn = false;
    std::size_t tries = 0;
    const char* method = nullptr;
    spi::duration timeout{};
    std::string token{};
    std::string request{};
    members::made_late make{};  // if in turn
    members::answered done{};
};

class asked_members final : public members, public std::enable_shared_from_this<asked_members> {
public:
    asked_members(settings how, spi::clock& clock) : settings_(std::move(how)), clock_(clock), sockets_(clock) {
        for (std::size_t i = 0; i < settings_.endpoints.size(); ++i)
            lines_.push_back(std::make_shared<connection>(settings_, settings_.endpoint_of(i), clock, sockets_));
    }

    void ask(const char* method, std::string request, spi::duration timeout, answered done) override {
        send(method, std::move(request), timeout, std::move(done), std::nullopt);
    }
    void ask_in_turn(const char* method, made_late request, spi::duration timeout, answered done) override;
    void look_up(const char* method, std::string request, spi::duration timeout, answered done) override {
        send(method, std::move(request), timeout, std::move(done), std::nullopt, true);
    }
    void ask_one(std::size_t member, const char* method, std::string request, spi::duration timeout,
                 answered done) override {
        send(method, std::move(request), timeout, std::move(done), member);
    }
    std::shared_ptr<stream> open(const char* method, stream::listener hears) override;
    void give_up(const stream& silent) override { rotate(static_cast<const grpc_stream&>(silent).member(), true); }

    std::size_t count() const override { return settings_.endpoints.size(); }
    const std::string& address_of(std::size_t member) const override { return settings_.endpoints[member]; }

    void wait(spi::sleeper& caller) override { lines_[current()]->wait(caller); }
    void serve(std::chrono::milliseconds at_most, const std::function<bool()>& enough) override {
        lines_[current()]->serve(at_most, enough);
    }
    void nudge(const spi::sleeper& caller) noexcept override {
        for (const auto& one : lines_) one->nudge(caller);
    }

    void guarded(unique_function<void()> what) override {
        struct visit {
            asked_members& of;
            explicit visit(asked_members& m) : of(m) { of.inside_.fetch_add(1); }
            ~visit() {
                if (of.inside_.fetch_sub(1) == 1 && of.closed_.load()) of.inside_.notify_all();
            }
        } const here{*this};
        if (!closed_.load()) what();
    }
    void close() noexcept override;

private:
    using admitted = unique_function<void(const rpc_result&, const std::string& token)>;

    std::size_t current() {
        std::scoped_lock guard{mutex_};
        return current_;
    }
    void with_token(admitted then);
    void authenticate();
    void send(const char* method, std::string request, spi::duration timeout, answered done,
              std::optional<std::size_t> member, bool harmless = false);
    void admit(const std::shared_ptr<call>& one);
    void take_turns();
    void finish(const std::shared_ptr<call>& one, const rpc_result& reply, const std::string& bytes);
    void start(const std::shared_ptr<call>& one);
    void ended(const std::shared_ptr<call>& one, const ending& reply, const std::string& bytes);
    void stream_ended(const std::shared_ptr<grpc_stream>& one, const ending& reply);
    void rotate(std::size_t from, bool even_alone = false);

    const settings settings_;
    spi::clock& clock_;
    net::poller sockets_;
    std::vector<std::shared_ptr<connection>> lines_;  // as many as endpoints
    std::atomic<bool> closed_{false};
    std::atomic<int> inside_{0};

    std::mutex mutex_;
    std::size_t current_ = 0;
    std::set<std::shared_ptr<grpc_stream>> streams_;
    std::string token_;
    bool authenticating_ = false;
    std::vector<admitted> waiting_;           // for a token
    std::deque<std::shared_ptr<call>> line_;  // for their turn
    double in_turn_ = 0;
    double allowed_in_turn_ = most_in_turn;
    bool taking_turns_ = false;
};

std::shared_ptr<stream> asked_members::open(const char* method, stream::listener hears) {
    auto made = std::make_shared<grpc_stream>(clock_, std::move(hears),
                                              [weak = weak_from_this()](unique_function<void()> what) {
                                                  if (const auto self = weak.lock()) self->guarded(std::move(what));
                                              });
    with_token([this, made, method](const rpc_result& admission, const std::string& token) {
        if (!admission.ok()) return made->fail(admission);
        std::size_t member = 0;
        {
            std::scoped_lock guard{mutex_};
            if (closed_) return;
            streams_.insert(made);
            member = current_;
        }
        made->begin(member, lines_[member], method, token, [weak = weak_from_this(), made](const ending& reply) {
            if (const auto self = weak.lock()) self->stream_ended(made, reply);
        });
    });
    return made;
}

void asked_members::stream_ended(const std::shared_ptr<grpc_stream>& one, const ending& reply) {
    {
        std::scoped_lock guard{mutex_};
        streams_.erase(one);
    }
    if (is_trouble_of_the_member(reply)) rotate(one->member());
    rpc_result end = rpc_result::of(reply, address_of(one->member()), settings_);
    if (end.ok()) end = {.is = rpc_result::verdict::unknown, .reason = errc::unreachable};
    one->fail(end);
}

void asked_members::with_token(admitted then) {
    if (settings_.user.empty()) return then({.is = rpc_result::verdict::answered}, {});
    std::string token;
    bool begin = false;
    {
        std::scoped_lock guard{mutex_};
        token = token_;
        if (token.empty()) {
            waiting_.push_back(std::move(then));
            begin = !std::exchange(authenticating_, true);
        }
    }
    if (!token.empty()) return then({.is = rpc_result::verdict::answered}, token);
    if (begin) authenticate();
}

void asked_members::authenticate() {
    const auto one = base::make_spared<call>();
    one->harmless = true;
    one->method = "/etcdserverpb.Auth/Authenticate";
    one->timeout = settings_.timeout;
    one->request = encoded(rpc::credentials{settings_.user, settings_.password});
    one->done = [this](const rpc_result& reply, const std::string& bytes) {
        rpc::admission given;
        if (reply.ok()) static_cast<void>(decode(bytes, given));
        std::vector<admitted> all;
        {
            std::scoped_lock guard{mutex_};
            authenticating_ = false;
            token_ = given.token;
            all = std::exchange(waiting_, {});
        }
        for (admitted& then : all) then(reply, given.token);
    };
    start(one);
}

void asked_members::send(const char* method, std::string request, spi::duration timeout, answered done,
                         std::optional<std::size_t> member, bool harmless) {
    const auto one = base::make_spared<call>();
    one->member = member.value_or(0);
    one->pinned = member.has_value();
    one->harmless = harmless;
    one->method = method;
    one->timeout = timeout;
    one->request = std::move(request);
    one->done = std::move(done);
    admit(one);
}

void asked_members::admit(const std::shared_ptr<call>& one) {
    with_token([this, one](const rpc_result& admission, const std::string& token) {
        if (!admission.ok()) return finish(one, admission, {});
        one->token = token;
        start(one);
    });
}

void asked_members::start(const std::shared_ptr<call>& one) {
    if (closed_) return;
    if (!one->pinned) one->member = current();
    ++one->tries;
    lines_[one->member]->begin(
        {.method = one->method,
         .token = one->token,
         .timeout = one->timeout,
         .request = one->request,  // until it has ended, `one` is here
         .ended = [self = shared_from_this(), one](const ending& reply, const std::string& bytes) {
             self->ended(one, reply, bytes);
         }});
}

void asked_members::ended(const std::shared_ptr<call>& one, const ending& reply, const std::string& bytes) {
    if (closed_) return;
    if (is_trouble_of_the_member(reply) && !one->pinned) rotate(one->member);
    // Nobody has done it, or it does not matter: then another may, if there is one.
    const bool does_not_matter = one->harmless && is_trouble_of_the_member(reply) && !reply.hopeless;
    const bool again = is_for_another_member(reply) || does_not_matter;
    if (again && !one->pinned && one->tries < count()) return start(one);
    if (reply.code == ending::unauthenticated && !one->token.empty() && !std::exchange(one->readmitted, true)) {
        {
            std::scoped_lock guard{mutex_};
            if (token_ == one->token) token_.clear();
        }
        return admit(one);
    }
    if (one->in_turn) {
        std::scoped_lock guard{mutex_};
        allowed_in_turn_ = reply.code == ending::deadline_exceeded
                               ? std::max(allowed_in_turn_ / 2, least_in_turn)
                               : std::min(allowed_in_turn_ + 1 / allowed_in_turn_, most_in_turn);
    }
    finish(one, rpc_result::of(reply, settings_.endpoints[one->member], settings_), bytes);
}

void asked_members::finish(const std::shared_ptr<call>& one, const rpc_result& reply, const std::string& bytes) {
    if (one->in_turn) {
        {
            std::scoped_lock guard{mutex_};
            --in_turn_;
        }
        take_turns();
    }
    guarded([&] { one->done(reply, bytes); });
}

void asked_members::ask_in_turn(const char* method, made_late request, spi::duration timeout, answered done) {
    auto one = base::make_spared<call>();
    one->in_turn = true;
    one->method = method;
    one->timeout = timeout;
    one->make = std::move(request);
    one->done = std::move(done);
    {
        std::scoped_lock guard{mutex_};
        if (closed_) return;
        line_.push_back(std::move(one));
    }
    take_turns();
}

// By one thread at a time: what ends on the spot comes back here, and is only counted.
void asked_members::take_turns() {
    {
        std::scoped_lock guard{mutex_};
        if (std::exchange(taking_turns_, true)) return;
    }
    for (;;) {
        std::shared_ptr<call> next;
        {
            std::scoped_lock guard{mutex_};
            taking_turns_ = !closed_ && !line_.empty() && in_turn_ < std::floor(allowed_in_turn_);
            if (!taking_turns_) return;
            ++in_turn_;
            next = std::move(line_.front());
            line_.pop_front();
        }
        auto request = next->make();
        if (!request) {
            finish(next, {.is = rpc_result::verdict::refused, .reason = errc::cancelled}, {});
            continue;
        }
        next->request = std::move(*request);
        admit(next);
    }
}

void asked_members::rotate(std::size_t from, bool even_alone) {
    std::vector<std::shared_ptr<grpc_stream>> of_it;
    {
        std::scoped_lock guard{mutex_};
        if (current_ != from || closed_ || (settings_.endpoints.size() == 1 && !even_alone)) return;
        current_ = (from + 1) % settings_.endpoints.size();
        for (const auto& one : streams_)
            if (one->member() == from) of_it.push_back(one);
    }
    for (const auto& one : of_it) one->cut();
}

void asked_members::close() noexcept {
    std::set<std::shared_ptr<grpc_stream>> streams;
    std::vector<admitted> waiting;
    std::deque<std::shared_ptr<call>> in_line;
    {
        std::scoped_lock guard{mutex_};
        if (closed_.exchange(true)) return;
        streams.swap(streams_);
        waiting.swap(waiting_);
        in_line.swap(line_);
    }
    for (const auto& one : streams) one->stop();
    for (int n = inside_.load(); n != 0; n = inside_.load()) inside_.wait(n);
    sockets_.stop();
    for (const auto& one : lines_) one->close();
}

}  // namespace

members::~members() = default;

std::shared_ptr<members> members::of(const settings& how, spi::clock& clock) {
    return std::make_shared<asked_members>(how, clock);
}

}  // namespace mortise::inline v0::stores::etcd
