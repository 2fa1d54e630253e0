#include "core/release_log.hpp"

namespace mortise::inline v0::core {

void release_log::ended() noexcept {
    if (count_.fetch_sub(1) > 1 || !awaited_.load()) return;
    std::scoped_lock guard{mutex_};
    empty_.notify_all();
}

bool release_log::wait_until_empty(spi::duration patience) {
    std::unique_lock guard{mutex_};
    awaited_ = true;
    return empty_.wait_for(guard, patience, [&] { return count_ == 0; });
}

void release_log::insert(const void* request, const std::string& name, const claim_id& id) {
    std::scoped_lock guard{mutex_};
    unanswered_.emplace(request, claim{&name, id});
}

void release_log::erase(const void* request) noexcept {
    std::scoped_lock guard{mutex_};
    unanswered_.erase(request);
}

std::vector<spi::admitted_claim> release_log::unanswered() {
    std::scoped_lock guard{mutex_};
    std::vector<spi::admitted_claim> all;
    for (const auto& [request, of] : unanswered_)
        all.push_back({*of.first, of.second, spi::admitted_claim::stage::leaving});
    return all;
}

}  // namespace mortise::inline v0::core
