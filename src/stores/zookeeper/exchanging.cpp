// How a claim takes the place of a hold, and what that asks of those who come after it. See base/line.hpp for the rules.
#include "stores/zookeeper/claims.hpp"

namespace mortise::inline v0::stores::zookeeper {

// Takes the old hold's place, if nobody has come to hold since the line was read.
void claims::exchange(const entry_ptr& e, const base::line_verdict& said, std::span<const node_name> line,
                      const node_stat& floor) {
    using kind = session::change::kind;
    const node_name* old = find(line, e->instead_of);
    std::vector<session::change> all{{.is = kind::set, .path = e->line, .version = floor.version}};
    for (const claim_id& id : said.guards) {
        const bool goes = id == e->id || id == e->instead_of;
        all.push_back({.is = goes ? kind::remove : kind::check, .path = e->line + "/" + find(line, id)->name});
    }
    all.push_back({.is = kind::create_in_line,
                   .path = e->line + "/" + names_.prefix(line_entry_of(*e), old->stands_at),
                   .data = e->data});
    if (const entry_ptr before = known(e->instead_of)) before->being_replaced = true;
    e->looking = true;
    servers_.change_all(std::move(all), [this, e](const outcome& how, const std::string& node, const node_stat& set) {
        later say;
        const std::scoped_lock guard{mutex_};
        e->looking = false;
        if (how.ok()) {
            e->node = node;
            e->counter = set.changed;  // the same transaction
            exchanged(e);
            return e->leaving ? proceed(e, say) : grant(e, say);
        }
        if (how == outcome::kind::unsure) {
            e->node.clear();  // it is one of two
            e->unsure = true;
            return failed(e, how, say);
        }
        not_exchanged(e);
        if (how == outcome::kind::denied || how == outcome::kind::over) return failed(e, how, say);
        proceed(e, say);
    });
}

// The old hold has become this one.
void claims::exchanged(const entry_ptr& e) {
    const entry_ptr old = known(e->instead_of);
    if (!old) return;
    old->held = false;
    entries_.erase(old->id);
    remember(old->id, spi::release_answer::released);
}

// It is still the old one, if nothing else has happened to that meanwhile.
void claims::not_exchanged(const entry_ptr& e) {
    const entry_ptr old = known(e->instead_of);
    if (!old || !std::exchange(old->being_replaced, false)) return;
    old->watched = false;
    watch_holds_later();
}

// An exchange went before it, so its own number is too small for a token.
void claims::stamp(const entry_ptr& e, const node_stat& floor) {
    using kind = session::change::kind;
    e->looking = true;
    servers_.change_all(
        {{.is = kind::set, .path = e->line, .version = floor.version},
         {.is = kind::set, .path = e->node, .data = e->data}},
        [this, e](const outcome& how, const std::string&, const node_stat& set) {
            later say;
            const std::scoped_lock guard{mutex_};
            e->looking = false;
            if (how == outcome::kind::unsure || how == outcome::kind::over || how == outcome::kind::denied)
                return failed(e, how, say);
            if (!how.ok() || e->leaving) return proceed(e, say);
            e->counter = set.changed;
            grant(e, say);
        });
}

}  // namespace mortise::inline v0::stores::zookeeper
