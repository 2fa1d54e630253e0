#include "stores/etcd/grpc_stream.hpp"

#include <utility>

namespace mortise::inline v0::stores::etcd {

void grpc_stream::begin(std::size_t member, std::shared_ptr<connection> over_line, const char* method,
                        const std::string& token, unique_function<void(const ending&)> over) {
    {
        std::scoped_lock held{mutex_};
        member_ = member;
        line_ = over_line;
        tell_ = std::move(over);
    }
    const connection::ticket made = over_line->begin(
        {.method = method,
         .token = token,
         .heard = [self = shared_from_this()](const std::string& message) { self->heard(message); },
         .ended = [self = shared_from_this()](const ending& how, const std::string&) { self->ended(how); }});
    {
        std::scoped_lock held{mutex_};
        if (over_ && !stopped_) return;  // already
        ticket_ = made;
        for (std::string& each : std::exchange(unsaid_, {})) over_line->say(made, std::move(each));
        if (expecting_) over_line->expect(true);
    }
    if (stopped_) leave();
}

void grpc_stream::say(std::string message) {
    std::scoped_lock held{mutex_};
    if (ticket_ == 0) {
        if (!over_) unsaid_.push_back(std::move(message));
    } else {
        line_->say(ticket_, std::move(message));
    }
}

void grpc_stream::expect(bool whether) {
    std::scoped_lock held{mutex_};
    if (std::exchange(expecting_, whether) != whether && ticket_ != 0) line_->expect(whether);
}

void grpc_stream::leave() {
    std::scoped_lock held{mutex_};
    if (const connection::ticket mine = std::exchange(ticket_, 0); mine != 0) {
        line_->drop(mine);
        if (expecting_) line_->expect(false);
    }
}

void grpc_stream::stop() {
    stopped_ = true;
    leave();
    unique_function<void(const ending&)> dropped;
    std::scoped_lock held{mutex_};
    over_ = true;
    dropped = std::move(tell_);
}

// Told later: whoever cuts may be in the middle of being told something.
void grpc_stream::cut() {
    {
        std::scoped_lock held{mutex_};
        if (ticket_ == 0) return;
    }
    leave();
    clock_.at(clock_.now(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->ended({.code = ending::cancelled, .text = "it was given up"});
    });
}

void grpc_stream::heard(const std::string& message) {
    std::scoped_lock mine{turn_};
    guarded_([&] {
        if (!stopped_) hears_.heard(message);
    });
}

void grpc_stream::ended(const ending& how) {
    unique_function<void(const ending&)> tell;
    {
        std::scoped_lock held{mutex_};
        if (std::exchange(over_, true)) return;
        if (std::exchange(ticket_, 0) != 0 && expecting_) line_->expect(false);
        tell = std::move(tell_);
    }
    if (tell) tell(how);
}

void grpc_stream::fail(const rpc_result& why) {
    std::scoped_lock mine{turn_};
    guarded_([&] {
        if (!stopped_) hears_.ended(why);
    });
}

}  // namespace mortise::inline v0::stores::etcd
