// How a claim takes the place of a hold, and what that asks of those who come after it. See base/line.hpp for the rules.
#include "stores/zookeeper/claims.hpp"

namespace mortise::inline v0::stores::zookeeper {

// Takes the old hold's place, if nobody has come to hold since the line was read.
void claims::exchange(const claim_ptr& claim, const base::line_verdict& verdict, std::span<const node_name> line,
                      const node_stat& floor) {
    using kind = session::operation::kind;
    const node_name* old = find(line, claim->instead_of);
    std::vector<session::operation> all{{.is = kind::set, .path = claim->line, .version = floor.version}};
    for (const claim_id& id : verdict.guards) {
        const bool goes = id == claim->id || id == claim->instead_of;
        all.push_back({.is = goes ? kind::remove : kind::check, .path = claim->line + "/" + find(line, id)->name});
    }
    all.push_back({.is = kind::create_sequential,
                   .path = claim->line + "/" + names_.prefix(line_entry_of(*claim), old->stands_at),
                   .data = claim->data});
    if (const claim_ptr before = known(claim->instead_of)) before->being_replaced = true;
    claim->busy = true;
    servers_.transact(std::move(all),
                      [this, claim](const request_status& status, const std::string& node, const node_stat& set) {
                          deferred_calls say;
                          const std::scoped_lock guard{mutex_};
                          claim->busy = false;
                          if (status.ok()) {
                              claim->node = node;
                              claim->counter = set.changed;  // the same transaction
                              exchanged(claim);
                              return claim->leaving ? proceed(claim, say) : grant(claim, say);
                          }
                          if (status == request_status::kind::unsure) {
                              claim->node.clear();  // it is one of two
                              claim->unsure = true;
                              return failed(claim, status, say);
                          }
                          not_exchanged(claim);
                          if (status == request_status::kind::denied || status == request_status::kind::expired)
                              return failed(claim, status, say);
                          proceed(claim, say);
                      });
}

// The old hold has become this one.
void claims::exchanged(const claim_ptr& claim) {
    const claim_ptr old = known(claim->instead_of);
    if (!old) return;
    old->held = false;
    entries_.erase(old->id);
    remember(old->id, spi::release_answer::released);
}

// It is still the old one, if nothing else has happened to that meanwhile.
void claims::not_exchanged(const claim_ptr& claim) {
    const claim_ptr old = known(claim->instead_of);
    if (!old || !std::exchange(old->being_replaced, false)) return;
    old->watched = false;
    watch_holds_later();
}

// An exchange went before it, so its own number is too small for a token.
void claims::stamp(const claim_ptr& claim, const node_stat& floor) {
    using kind = session::operation::kind;
    claim->busy = true;
    servers_.transact({{.is = kind::set, .path = claim->line, .version = floor.version},
                       {.is = kind::set, .path = claim->node, .data = claim->data}},
                      [this, claim](const request_status& status, const std::string&, const node_stat& set) {
                          deferred_calls say;
                          const std::scoped_lock guard{mutex_};
                          claim->busy = false;
                          if (status == request_status::kind::unsure || status == request_status::kind::expired ||
                              status == request_status::kind::denied)
                              return failed(claim, status, say);
                          if (!status.ok() || claim->leaving) return proceed(claim, say);
                          claim->counter = set.changed;
                          grant(claim, say);
                      });
}

}  // namespace mortise::inline v0::stores::zookeeper
