// What a client admits to. See include/mortise/spi/audit.hpp.
#include "core/engine.hpp"
#include "core/farewell.hpp"

#include <mortise/spi/audit.hpp>

namespace mortise::inline v0::core {

// A farewell counts once it was not answered on the spot, and until it has been or is repeated no more.
void engine::is_leaving(farewell& which, bool whether) {
    std::scoped_lock guard{leaving_mutex_};
    if (whether) {
        leaving_.insert(&which);
    } else {
        leaving_.erase(&which);
    }
}

std::vector<spi::admitted_claim> engine::admitted() {
    using stage = spi::admitted_claim::stage;
    std::vector<spi::admitted_claim> all;
    if (forked()) return all;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (const auto& c : s.all())
            all.push_back({c->terms.name, c->id, c->is == cohort::state::held ? stage::holding : stage::waiting});
    }
    // After the cohorts: a claim that is left in between is seen twice, and not missed.
    std::scoped_lock guard{leaving_mutex_};
    for (farewell* one : leaving_)
        if (one->pending()) all.push_back({one->name(), one->id(), stage::leaving});
    return all;
}

}  // namespace mortise::inline v0::core

namespace mortise::inline v0::spi {

std::vector<admitted_claim> admitted(const client& of) {
    return core::access::engine_of(of)->admitted();
}

}  // namespace mortise::inline v0::spi
