#include "stores/redis/subscriptions.hpp"

namespace mortise::inline v0::stores::redis {

bool subscriptions::join(std::string_view channel) {
    state& one = channels_[std::string(channel)];
    if (one.listeners++ == 0) ++listened_;
    if (one.subscribed) return one.unanswered == 0;
    return false;
}

bool subscriptions::leave(std::string_view channel) {
    const auto it = channels_.try_emplace(std::string(channel)).first;
    if (it->second.listeners == 0) {
        ++it->second.gone_before;
        return false;
    }
    if (--it->second.listeners > 0) return false;
    --listened_;
    const bool was = it->second.subscribed;
    it->second.subscribed = false;
    tidy(channel);
    return was;
}

bool subscriptions::has_left(std::string_view channel) {
    const auto it = channels_.find(channel);
    if (it == channels_.end() || it->second.gone_before == 0) return false;
    --it->second.gone_before;
    tidy(channel);
    return true;
}

void subscriptions::asked(std::string_view channel) {
    state& one = channels_[std::string(channel)];
    ++one.unanswered;
    one.subscribed = one.listeners > 0;
}

void subscriptions::answered(std::string_view channel) {
    const auto it = channels_.find(channel);
    if (it == channels_.end()) return;
    if (it->second.unanswered > 0) --it->second.unanswered;
    tidy(channel);
}

void subscriptions::lost() {
    std::erase_if(channels_, [](const auto& one) { return one.second.listeners + one.second.gone_before == 0; });
    for (auto& [channel, one] : channels_) one = {.listeners = one.listeners, .gone_before = one.gone_before};
}

std::vector<std::string> subscriptions::wanted() const {
    std::vector<std::string> all;
    for (const auto& [channel, one] : channels_)
        if (one.listeners > 0) all.push_back(channel);
    return all;
}

void subscriptions::tidy(std::string_view channel) {
    const auto it = channels_.find(channel);
    if (it != channels_.end() && it->second.listeners + it->second.gone_before + it->second.unanswered == 0)
        channels_.erase(it);
}

}  // namespace mortise::inline v0::stores::redis
