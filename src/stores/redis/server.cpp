#include "stores/redis/server.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::redis {

namespace {

constexpr std::string_view asking_first = "*1\r\n$6\r\nASKING\r\n";

// The same as once_up, but a strict client has a reason against claims where a promise is broken.
void once_fit(const std::shared_ptr<connection>& on, handler then) {
    once_up(on, [on, then = std::move(then)](const reply& said) mutable {
        const std::string flaw = said.failure() ? "" : on->flaw();
        if (flaw.empty()) return then(said);
        then({.is = reply::kind::failed, .number = static_cast<int>(errc::unsupported), .text = flaw});
    });
}

void send(const std::shared_ptr<connection>& on, call once, handler done, bool asking) {
    auto what = std::make_unique<const call>(std::move(once));
    const std::string& bytes = what->by_digest();
    handler answered = [on, what = std::move(what), done = std::move(done), asking](const reply& said) mutable {
        if (!said.error() || !said.text.starts_with("NOSCRIPT")) return done(said);
        std::vector<handler> both;
        if (asking) both.emplace_back([](const reply&) {});
        both.push_back(std::move(done));
        on->send(std::string(asking ? asking_first : "") + what->by_source(), both);
    };
    if (!asking) return on->send(bytes, std::move(answered));
    std::vector<handler> both;
    both.emplace_back([](const reply&) {});
    both.push_back(std::move(answered));
    on->send(std::string(asking_first) + bytes, both);
}

}  // namespace

void run(const std::shared_ptr<connection>& on, call what, handler done, bool asking) {
    if (!on->strict() || !what.takes()) return send(on, std::move(what), std::move(done), asking);
    once_fit(on, [on, what = std::move(what), done = std::move(done), asking](const reply& said) mutable {
        if (said.failure()) return done(said);
        send(on, std::move(what), std::move(done), asking);
    });
}

void once_up(const std::shared_ptr<connection>& on, handler then) {
    if (on->up()) return then({.is = reply::kind::text});
    on->send("*1\r\n$4\r\nTIME\r\n", std::move(then));  // PING would need one more right
}

void durable_line::run(call what, unsigned replicas, durable_handler done, bool asking) {
    {
        std::scoped_lock guard{mutex_};
        next_.push_back({.what = std::move(what), .replicas = replicas, .done = std::move(done), .asking = asking});
        if (std::exchange(under_way_, true)) return;
    }
    send_next();
}

void durable_line::send_next() {
    auto sent = std::make_shared<batch>();
    {
        std::scoped_lock guard{mutex_};
        if (next_.empty()) {
            under_way_ = false;
            return;
        }
        sent->swap(next_);
    }
    std::string bytes;
    std::vector<handler> handlers;
    unsigned most = 0;
    for (std::size_t i = 0; i < sent->size(); ++i) {
        const item& one = (*sent)[i];
        if (one.asking) {
            bytes += asking_first;
            handlers.emplace_back([](const reply&) {});
        }
        bytes += one.by_source ? one.what.by_source() : one.what.by_digest();
        most = std::max(most, one.replicas);
        handlers.emplace_back([sent, i](const reply& said) {  // kept until the replicas have it
            item& mine = (*sent)[i];
            mine.is = said.is;
            mine.helps = said.helps;
            mine.number = said.number;
            mine.text = said.text;
        });
    }
    command{bytes, 3} << "WAIT" << std::int64_t{most}
                      << std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count();
    handlers.emplace_back([self = shared_from_this(), sent](const reply& said) { self->answered(sent, said); });
    on_->send(bytes, handlers);
}

void durable_line::answered(const std::shared_ptr<batch>& sent, const reply& waited) {
    const auto replicas = waited.is == reply::kind::integer ? static_cast<unsigned>(waited.number) : 0u;
    batch again;
    for (item& one : *sent) {
        if (one.is == reply::kind::error && one.text.starts_with("NOSCRIPT") && !one.by_source) {
            one.by_source = true;
            again.push_back(std::move(one));
            continue;
        }
        reply said{.is = one.is, .helps = one.helps, .number = one.number, .text = one.text};
        // A replica answers WAIT with an error, but where it sends us is in its answer to the script.
        if (waited.failure() || (waited.error() && !said.error()))
            said = {.is = waited.is, .helps = waited.helps, .number = waited.number, .text = waited.text};
        one.done(said, replicas);
    }
    if (!again.empty()) {
        std::scoped_lock guard{mutex_};
        std::move(next_.begin(), next_.end(), std::back_inserter(again));
        next_ = std::move(again);
    }
    send_next();
}

server::server(const settings& how, connection::plan what, connection::hooks tell, spi::clock& clock, poller& sockets)
    : how_(how),
      plan_(std::move(what)),
      clock_(clock),
      sockets_(sockets),
      shared_(std::make_shared<connection>(how_, plan_, std::move(tell), clock, sockets)) {}

void server::run_durably(call what, unsigned replicas, durable_handler done, bool asking) {
    std::shared_ptr<durable_line> line;
    {
        std::scoped_lock guard{mutex_};
        if (closed_) return;
        if (!own_) {
            connection::plan mine = plan_;
            mine.inbox.clear();
            mine.durable = true;
            mine.waited_on = false;
            own_ = std::make_shared<connection>(how_, std::move(mine), connection::hooks{}, clock_, sockets_);
            durable_ = std::make_shared<durable_line>(own_, how_.replica_timeout);
        }
        line = durable_;
    }
    // A claim that is put in line is granted over the other connection.
    const auto ready = what.takes() ? &once_fit : &once_up;
    ready(shared_, [line, what = std::move(what), replicas, done = std::move(done), asking](const reply& said) mutable {
        if (said.failure()) return done(said, 0);
        line->run(std::move(what), replicas, std::move(done), asking);
    });
}

void server::move_to(const endpoint& where) {
    shared_->move_to(where);
    std::scoped_lock guard{mutex_};
    plan_.where = where;
    if (own_) own_->move_to(where);
}

void server::close() noexcept {
    shared_->close();
    std::shared_ptr<connection> own;
    {
        std::scoped_lock guard{mutex_};
        closed_ = true;
        own = own_;
    }
    if (own) own->close();
}

}  // namespace mortise::inline v0::stores::redis
