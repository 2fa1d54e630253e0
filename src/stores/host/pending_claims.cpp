#include "stores/host/pending_claims.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::host {

pending_claims::kept_request::kept_request(const spi::claim_request& wanted)
    : name_(wanted.name), label_(wanted.label), wanted_(wanted) {
    wanted_.name = name_;
    wanted_.label = label_;
}

void pending_claims::add(const spi::claim_request& wanted, std::string why) {
    auto kept = std::make_shared<const kept_request>(wanted);
    std::scoped_lock guard{mutex_};
    all_.push_back(std::move(kept));
    any_ = true;
    why_ = std::move(why);
}

std::optional<std::string> pending_claims::why(const claim_id& id) {
    if (!any_) return {};
    std::scoped_lock guard{mutex_};
    const bool there = std::any_of(all_.begin(), all_.end(), [&](const auto& one) { return (**one).id == id; });
    return there ? std::optional{why_} : std::nullopt;
}

bool pending_claims::remove(const claim_id& id) {
    if (!any_) return {};
    std::scoped_lock guard{mutex_};
    return std::erase_if(all_, [&](const auto& one) { return (**one).id == id; }) != 0;
}

auto pending_claims::all() -> found {
    std::scoped_lock guard{mutex_};
    return all_;
}

void pending_claims::explain(const std::string& why) {
    std::scoped_lock guard{mutex_};
    why_ = why;
}

void pending_claims::clear() {
    std::scoped_lock guard{mutex_};
    all_.clear();
}

}  // namespace mortise::inline v0::stores::host
