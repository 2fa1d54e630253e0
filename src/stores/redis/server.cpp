#include "stores/redis/server.hpp"

#include "base/spare_blocks.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::redis {

namespace {

constexpr std::string_view asking_first = "*1\r\n$6\r\nASKING\r\n";

// The same as when_connected, but fails for a strict client if the server breaks a promise.
void when_usable(const std::shared_ptr<connection>& on, handler then) {
    when_connected(on, [on, then = std::move(then)](const reply& answer) mutable {
        const std::string flaw = answer.failure() ? "" : on->flaw();
        if (flaw.empty()) return then(answer);
        then({.is = reply::kind::failed, .number = static_cast<int>(errc::unsupported), .text = flaw});
    });
}

// A script, until the server has said that it knows it.
struct sent_script : base::spared<sent_script> {
    std::shared_ptr<connection> on;
    script_call request;
    handler done;
    bool asking = false;

    sent_script(const std::shared_ptr<connection>& where, script_call&& what, handler&& then, bool first_asking)
        : on(where), request(std::move(what)), done(std::move(then)), asking(first_asking) {}

    void answered(const reply& answer) {
        if (!answer.error() || !answer.text.starts_with("NOSCRIPT")) return done(answer);
        on->scripts_there().missed(request.called());
        std::vector<handler> both;
        if (asking) both.emplace_back([](const reply&) {});
        both.push_back(std::move(done));
        on->send(std::string(asking ? asking_first : "") + request.by_source(), both);
    }
};

void send(const std::shared_ptr<connection>& on, script_call&& request, handler&& done, bool asking) {
    if (request.plain() && !asking) return on->send(request.by_digest(), std::move(done));
    auto sent = std::make_unique<sent_script>(on, std::move(request), std::move(done), asking);
    const bool known = sent->request.plain() || on->scripts_there().knows(sent->request.called());
    const std::string source = known ? std::string{} : sent->request.by_source();
    const std::string& bytes = known ? sent->request.by_digest() : source;
    handler answered = [sent = std::move(sent)](const reply& answer) { sent->answered(answer); };
    if (!asking) return on->send(bytes, std::move(answered));
    std::vector<handler> both;
    both.emplace_back([](const reply&) {});
    both.push_back(std::move(answered));
    on->send(std::string(asking_first) + bytes, both);
}

}  // namespace

void run(const std::shared_ptr<connection>& on, script_call&& request, handler&& done, bool asking) {
    if (!on->strict() || !request.takes()) return send(on, std::move(request), std::move(done), asking);
    when_usable(on, [on, request = std::move(request), done = std::move(done), asking](const reply& answer) mutable {
        if (answer.failure()) return done(answer);
        send(on, std::move(request), std::move(done), asking);
    });
}

void when_connected(const std::shared_ptr<connection>& on, handler then) {
    if (on->up()) return then({.is = reply::kind::text});
    on->send("*1\r\n$4\r\nTIME\r\n", std::move(then));  // PING would need one more right
}

void durable_queue::run(script_call request, unsigned replicas, durable_handler done, bool asking) {
    {
        std::scoped_lock guard{mutex_};
        next_.push_back(
            {.request = std::move(request), .replicas = replicas, .done = std::move(done), .asking = asking});
        if (std::exchange(under_way_, true)) return;
    }
    send_next();
}

void durable_queue::send_next() {
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
        bytes += one.by_source ? one.request.by_source() : one.request.by_digest();
        most = std::max(most, one.replicas);
        handlers.emplace_back([sent, i](const reply& answer) {  // kept until WAIT has returned
            item& mine = (*sent)[i];
            mine.is = answer.is;
            mine.helps = answer.helps;
            mine.number = answer.number;
            mine.text = answer.text;
        });
    }
    command{bytes, 3} << "WAIT" << std::int64_t{most}
                      << std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count();
    handlers.emplace_back([self = shared_from_this(), sent](const reply& answer) { self->answered(sent, answer); });
    on_->send(bytes, handlers);
}

void durable_queue::answered(const std::shared_ptr<batch>& sent, const reply& waited) {
    const auto replicas = waited.is == reply::kind::integer ? static_cast<unsigned>(waited.number) : 0u;
    batch again;
    for (item& one : *sent) {
        if (one.is == reply::kind::error && one.text.starts_with("NOSCRIPT") && !one.by_source) {
            one.by_source = true;
            again.push_back(std::move(one));
            continue;
        }
        reply answer{.is = one.is, .helps = one.helps, .number = one.number, .text = one.text};
        // A replica replies to WAIT with an error, but the redirection is in its reply to the script.
        if (waited.failure() || (waited.error() && !answer.error()))
            answer = {.is = waited.is, .helps = waited.helps, .number = waited.number, .text = waited.text};
        one.done(answer, replicas);
    }
    if (!again.empty()) {
        std::scoped_lock guard{mutex_};
        std::move(next_.begin(), next_.end(), std::back_inserter(again));
        next_ = std::move(again);
    }
    send_next();
}

server::server(const settings& config, connection::plan plan, connection::hooks callbacks, spi::clock& clock,
               poller& sockets)
    : settings_(config),
      plan_(std::move(plan)),
      clock_(clock),
      sockets_(sockets),
      shared_(std::make_shared<connection>(settings_, plan_, std::move(callbacks), clock, sockets)) {}

void server::run_durably(script_call request, unsigned replicas, durable_handler done, bool asking) {
    std::shared_ptr<durable_queue> line;
    {
        std::scoped_lock guard{mutex_};
        if (closed_) return;
        if (!own_) {
            connection::plan mine = plan_;
            mine.inbox.clear();
            mine.durable = true;
            mine.waited_on = false;
            own_ = std::make_shared<connection>(settings_, std::move(mine), connection::hooks{}, clock_, sockets_);
            durable_ = std::make_shared<durable_queue>(own_, settings_.replica_timeout);
        }
        line = durable_;
    }
    // A queued claim is granted by a push on the other connection.
    const auto ready = request.takes() ? &when_usable : &when_connected;
    ready(shared_,
          [line, request = std::move(request), replicas, done = std::move(done), asking](const reply& answer) mutable {
              if (answer.failure()) return done(answer, 0);
              line->run(std::move(request), replicas, std::move(done), asking);
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
