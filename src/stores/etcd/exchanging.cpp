// How a claim takes the place of a hold of its own client's: upgrades and downgrades. See base/line.hpp for the rules.
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <utility>

namespace mortise::inline v0::stores::etcd {

// Right only if nothing has changed of what judge() looked at: else the line is read again.
void desk::exchange(const record& who, const line& found, const base::line_verdict& judged, claimed done) {
    std::shared_ptr<lease> on;
    bool under_way = false;
    {
        std::scoped_lock guard{mutex_};
        under_way = who->exchanging;
        if (under_way && done) who->asked_meanwhile.push_back(std::move(done));
        if (!under_way && !who->withdrawing && who->is != claim_record::phase::over) on = who->on;
        if (on) {
            who->exchanging = true;
            if (const auto it = claims_.find(who->mine.at.instead_of); it != claims_.end())
                it->second->being_replaced = true;
        }
    }
    if (under_way) return;
    if (!on) return done ? done({.is = spi::claim_answer::verdict::unknown, .reason = errc::unreachable}) : void();

    const entry& old = *found.find(who->mine.at.instead_of);
    entry changed = who->mine;
    changed.at.place = old.at.stands_at();
    changed.at.stamped = true;
    std::vector<const entry*> guards;
    for (const claim_id& id : judged.guards) guards.push_back(found.find(id));
    cluster_->ask(method::txn, exchange_request(who->at, changed.value(), on->id, old.key, guards, found.floor),
                  how_.timeout,
                  [self = shared_from_this(), who, changed, done = std::move(done)](const outcome& said,
                                                                                    const std::string& bytes) mutable {
                      const txn_said read = said.ok() ? read_txn(self->keys_, {}, bytes) : txn_said{};
                      std::vector<claimed> asked;
                      {
                          std::scoped_lock guard{self->mutex_};
                          who->exchanging = false;
                          asked = std::exchange(who->asked_meanwhile, {});
                          if (read.succeeded) {
                              who->mine = changed;
                              who->seen_at = read.revision;
                              self->floors_.insert(who->name);
                          }
                      }
                      if (done) asked.push_back(std::move(done));
                      self->exchanged(who, said, read, std::move(asked));
                  });
}

void desk::exchanged(const record& who, const outcome& said, const txn_said& read, std::vector<claimed> asked) {
    using enum spi::claim_answer::verdict;
    bool over = false;
    {
        std::scoped_lock guard{mutex_};
        over = who->is == claim_record::phase::over;
    }
    if (!read.read) {  // whoever asks again finds it in the line, as one or as the other
        for (claimed& each : asked)
            each({.is = unknown,
                  .reason = said.ok() ? make_error_code(errc::unreachable) : said.reason,
                  .detail = said.detail});
        if (asked.empty()) look_soon(who);
        return;
    }
    if (read.succeeded) replaced(who);
    if (over) {  // released meanwhile, and that found it as it was before
        if (read.succeeded)
            cluster_->ask(method::remove, remove_request(who->at.key), how_.timeout,
                          [](const outcome&, const std::string&) {});
        for (claimed& each : asked) each({.is = refused, .reason = errc::cancelled});
        return;
    }
    if (asked.empty()) return read.succeeded ? grant(who, counter_of(read), {}) : woken(who);
    for (claimed& each : asked) {
        if (read.succeeded)
            grant(who, counter_of(read), std::move(each));
        else
            look(who, extent::whole, std::move(each));
    }
}

std::uint64_t desk::counter_of(const txn_said& written) {
    return static_cast<std::uint64_t>(written.revision);
}

// The old hold has become this one.
void desk::replaced(const record& who) {
    record old;
    {
        std::scoped_lock guard{mutex_};
        if (const auto it = claims_.find(who->mine.at.instead_of); it != claims_.end()) old = it->second;
    }
    if (!old) return;
    std::shared_ptr<lease> on;
    bool late = false;
    {
        std::scoped_lock guard{mutex_};
        on = old->on;
        late = old->may_come_back();
    }
    drop(old);
    remember(old->name, old->id, spi::release_answer::released);
    if (late) keep_out(old);  // nobody releases it
    if (old->own_lease && on) leases_->revoke(on->id, {});
}

// It is still the old one: what was to be said of it meanwhile was not.
void desk::not_replaced(const record& who) {
    bool soon = false;
    {
        std::scoped_lock guard{mutex_};
        const auto it = claims_.find(who->mine.at.instead_of);
        if (who->exchanging || it == claims_.end() || !std::exchange(it->second->being_replaced, false)) return;
        unwatched_.push_back(it->second);
        soon = !std::exchange(watching_soon_, true);
    }
    if (soon) watch_holds_soon();
}

// An exchange went before it, so the revision at which it came is too small for a token.
void desk::stamp(const record& who, const line& found, claimed done) {
    const entry& mine = *found.find(who->line_id);
    entry changed = who->mine;
    changed.at.stamped = true;
    cluster_->ask(method::txn, stamp_request(mine, changed.value(), found.floor, who->at.folder), how_.timeout,
                  [self = shared_from_this(), who, changed, done = std::move(done)](const outcome& said,
                                                                                    const std::string& bytes) mutable {
                      const txn_said read = said.ok() ? read_txn(self->keys_, {}, bytes) : txn_said{};
                      bool over = false;
                      {
                          std::scoped_lock guard{self->mutex_};
                          over = who->is == claim_record::phase::over;
                          if (read.succeeded) {
                              who->mine = changed;
                              who->seen_at = read.revision;
                              self->floors_.insert(who->name);
                          }
                      }
                      using enum spi::claim_answer::verdict;
                      if (over) return done ? done({.is = refused, .reason = errc::cancelled}) : void();
                      if (read.succeeded) return self->grant(who, counter_of(read), std::move(done));
                      if (read.read) return done ? self->look(who, extent::whole, std::move(done)) : self->woken(who);
                      if (!done) return self->look_soon(who);
                      done({.is = unknown, .reason = errc::unreachable, .detail = said.detail});
                  });
}

// Without anybody in the line, what was said to those in it need not stay.
void desk::wipe_floor(const record& who) {
    {
        std::scoped_lock guard{mutex_};
        if (!floors_.contains(who->name)) return;
    }
    cluster_->ask(method::txn, wipe_floor_request(who->at.folder), how_.timeout,
                  [self = shared_from_this(), name = who->name](const outcome& said, const std::string& bytes) {
                      if (!said.ok() || !read_txn(self->keys_, {}, bytes).succeeded) return;
                      std::scoped_lock guard{self->mutex_};
                      self->floors_.erase(name);
                  });
}

}  // namespace mortise::inline v0::stores::etcd
