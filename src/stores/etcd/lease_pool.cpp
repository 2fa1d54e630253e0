#include "stores/etcd/lease_pool.hpp"

#include "base/told_span.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::int64_t whole_seconds(spi::duration life) {
    return std::max<std::int64_t>(1, std::chrono::ceil<seconds>(life).count());
}

rpc_result not_granted() {
    return {.is = rpc_result::verdict::unknown, .reason = errc::unreachable, .detail = "a lease was not granted"};
}

}  // namespace

lease_pool::lease_pool(std::shared_ptr<members> cluster, spi::clock& clock, spi::duration timeout,
                       unique_function<void(const std::shared_ptr<lease>&)> gone)
    : cluster_(std::move(cluster)),
      clock_(clock),
      timeout_(timeout),
      gone_(std::move(gone)),
      // Whoever asks next opens it: what was asked is answered when it ends, so nobody needs it until then.
      stream_(method::keep_lease, reopening_stream::after_end::stay_closed, cluster_, clock_, mutex_) {}

void lease_pool::share(spi::duration life, got then) {
    const spi::duration wanted = seconds{whole_seconds(life)};
    std::shared_ptr<lease> ready;
    const auto made = std::make_shared<lease>();
    {
        std::scoped_lock guard{mutex_};
        if (closed_) return;
        pending& one = shared_[wanted];
        if (one.is && !one.is->gone) {
            ready = one.is;
        } else {
            one.is.reset();
            one.waiting.push_back(std::move(then));
            if (one.waiting.size() > 1) return;
        }
    }
    if (ready) return then({.is = rpc_result::verdict::answered}, ready);
    made->id = lease_of(claim_id::random());
    made->shared = made->kept = true;
    const spi::time_point sent = clock_.now();
    cluster_->ask(method::grant_lease, grant_lease_request(made->id, wanted / seconds{1}), timeout_,
                  [self = shared_from_this(), made, sent, wanted](const rpc_result& reply, const std::string& bytes) {
                      self->granted(made, reply, bytes, sent,
                                    [self, wanted](const rpc_result& ended, const std::shared_ptr<lease>& given) {
                                        std::vector<got> all;
                                        {
                                            std::scoped_lock guard{self->mutex_};
                                            pending& one = self->shared_[wanted];
                                            one.is = given;
                                            all = std::exchange(one.waiting, {});
                                        }
                                        for (got& each : all) each(ended, given);
                                    });
                  });
}

void lease_pool::own(std::int64_t id, spi::duration life, got then) {
    const auto made = std::make_shared<lease>();
    made->id = id;
    const spi::time_point sent = clock_.now();
    cluster_->ask(method::grant_lease, grant_lease_request(id, whole_seconds(life)), timeout_,
                  [self = shared_from_this(), made, sent, then = std::move(then)](const rpc_result& reply,
                                                                                  const std::string& bytes) mutable {
                      self->granted(made, reply, bytes, sent, std::move(then));
                  });
}

void lease_pool::granted(const std::shared_ptr<lease>& made, const rpc_result& reply, const std::string& bytes,
                         spi::time_point sent, got then) {
    if (reply.lease_exists) {  // an earlier request did it, and its answer was lost
        return keep(made, [made, then = std::move(then)](answer is) mutable {
            if (is == answer::alive) return then({.is = rpc_result::verdict::answered}, made);
            then(not_granted(), {});
        });
    }
    if (!reply.ok()) return then(reply, {});
    rpc::lease_response given;
    if (!decode(bytes, given) || given.ttl < 1) return then(not_granted(), {});
    {
        std::scoped_lock guard{mutex_};
        made->life = base::told_span<seconds>(given.ttl);
        made->proven = sent;
    }
    if (made->shared) next_round(made);
    then(reply, made);
}

void lease_pool::keep(const std::shared_ptr<lease>& which, kept then) {
    std::shared_ptr<stream> over;
    const spi::time_point sent = clock_.now();
    spi::duration patience{};
    std::uint64_t number = 0;
    bool first = false;
    {
        const lock held{mutex_};
        if (closed_) return;
        number = ++question_number_;
        patience = std::min<spi::duration>(timeout_, std::max<spi::duration>(which->life / 3, milliseconds{200}));
        questions_[which->id].push_back({which, sent, number, std::move(then)});
        over = stream_.current(held);
        first = stream_.begin_opening(held);
    }
    if (over) over->say(lease_request(which->id));
    if (first) stream_.open(shared_from_this());
    clock_.at(sent + patience, [weak = weak_from_this(), number] {
        if (const auto self = weak.lock()) self->cluster_->guarded([&] { self->overdue(number); });
    });
}

// What was asked meanwhile is said first.
void lease_pool::opened(stream& fresh, const lock&) {
    for (const auto& [id, some] : questions_)
        for (std::size_t i = 0; i < some.size(); ++i) fresh.say(lease_request(id));
}

void lease_pool::heard(const std::string& message) {
    rpc::lease_response reply;
    if (!decode(message, reply)) return;
    std::optional<question> asked;
    bool gone = false;
    {
        std::scoped_lock guard{mutex_};
        const auto of = questions_.find(reply.id);
        if (of == questions_.end()) return;
        asked = std::move(of->second.front());
        of->second.pop_front();
        if (of->second.empty()) questions_.erase(of);
        lease& it = *asked->of;
        it.failures = 0;
        if (reply.ttl > 0) {
            it.life = base::told_span<seconds>(reply.ttl);
            it.proven = std::max(it.proven, asked->sent);
        } else {
            gone = !std::exchange(it.gone, true);
        }
    }
    if (gone) gone_(asked->of);
    asked->then(reply.ttl > 0 ? answer::alive : answer::gone);
}

void lease_pool::ended(lock held) {
    auto all = std::exchange(questions_, {});
    for (auto& [id, some] : all) ++some.front().of->failures;
    held.unlock();
    for (auto& [id, some] : all)
        for (question& one : some) one.then(answer::unknown);
}

void lease_pool::overdue(std::uint64_t number) {
    std::shared_ptr<stream> silent;
    {
        const lock held{mutex_};
        for (const auto& [id, some] : questions_)
            for (const question& one : some)
                if (one.number == number) silent = stream_.current(held);
    }
    if (silent) cluster_->give_up(*silent);
}

void lease_pool::keep_on(const std::shared_ptr<lease>& which, bool whether) {
    {
        std::scoped_lock guard{mutex_};
        if (std::exchange(which->kept, whether) == whether || !whether) return;
    }
    next_round(which);
}

// Every third of its life; sooner while it is not answered.
void lease_pool::next_round(const std::shared_ptr<lease>& which) {
    spi::time_point due;
    {
        std::scoped_lock guard{mutex_};
        if (which->gone || !which->kept) return;
        due = which->failures == 0 ? which->proven + which->life / 3 : clock_.now() + which->life / 10;
    }
    clock_.at(std::max(due, clock_.now() + milliseconds{10}), [weak = weak_from_this(), which] {
        const auto self = weak.lock();
        if (!self) return;
        self->cluster_->guarded([&] {
            bool still = false;
            {
                std::scoped_lock guard{self->mutex_};
                still = which->kept && !which->gone;
            }
            if (still) self->keep(which, [self, which](answer) { self->next_round(which); });
        });
    });
}

lease_pool::terms lease_pool::terms_of(const lease& which) const {
    std::scoped_lock guard{mutex_};
    return {which.life, which.proven};
}

void lease_pool::forget(const std::shared_ptr<lease>& which) {
    {
        std::scoped_lock guard{mutex_};
        if (std::exchange(which->gone, true)) return;
    }
    gone_(which);
}

bool lease_pool::retire(const std::shared_ptr<lease>& which) {
    std::scoped_lock guard{mutex_};
    for (auto& [life, one] : shared_) {
        if (one.is != which) continue;
        one.is.reset();
        std::erase_if(retired_, [](const auto& before) { return before.expired(); });
        retired_.push_back(which);
        return true;
    }
    return false;
}

void lease_pool::revoke(std::int64_t id, unique_function<void(const rpc_result&)> then) {
    cluster_->ask(method::revoke_lease, lease_request(id), timeout_,
                  [then = std::move(then)](const rpc_result& reply, const std::string&) mutable {
                      if (then) then(reply);
                  });
}

std::vector<std::shared_ptr<lease>> lease_pool::all_shared() const {
    std::scoped_lock guard{mutex_};
    std::vector<std::shared_ptr<lease>> all;
    for (const auto& [life, one] : shared_)
        if (one.is && !one.is->gone) all.push_back(one.is);
    for (const auto& one : retired_)
        if (auto is = one.lock(); is && !is->gone) all.push_back(std::move(is));
    return all;
}

void lease_pool::close() noexcept {
    std::map<spi::duration, pending> shared;  // after the lock: they may own anything
    std::map<std::int64_t, std::deque<question>> questions;
    std::scoped_lock guard{mutex_};
    closed_ = true;
    shared.swap(shared_);
    questions.swap(questions_);
}

}  // namespace mortise::inline v0::stores::etcd
