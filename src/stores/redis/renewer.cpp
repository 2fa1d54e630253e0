#include "stores/redis/renewer.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Keys that one script renews, at most: the server does nothing else meanwhile.
constexpr std::size_t most_in_a_batch = 500;

}  // namespace

renewer::renewer(protocol how, const settings& config, std::shared_ptr<router> servers, spi::clock& clock,
                 std::function<unsigned(const claim_id&)> replicas_of)
    : protocol_(std::move(how)),
      settings_(config),
      servers_(std::move(servers)),
      clock_(clock),
      replicas_of_(std::move(replicas_of)) {}

void renewer::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    const auto replies = std::make_shared<base::renewal_replies>(due.size(), std::move(done));
    std::map<std::pair<std::uint32_t, unsigned>, batch> batches;
    spi::duration patience = seconds{10};
    for (std::size_t i = 0; i < due.size(); ++i) {
        std::string key = protocol_.key_of(due[i].name);
        if (due[i].lease > spi::duration::zero()) patience = std::min(patience, due[i].lease / 10);
        const unsigned replicas = replicas_of_(due[i].id);
        if (replicas > 0) patience = std::max<spi::duration>(patience, settings_.replica_timeout + milliseconds{100});
        batch& one = batches[{servers_->group_of(key), replicas}];
        one.items.push_back({std::move(key), due[i].id, due[i].lease});
        one.places.push_back(i);
        if (one.items.size() == most_in_a_batch) send(std::exchange(one, {}), replicas, replies);
    }
    for (auto& [group, one] : batches)
        if (!one.items.empty()) send(std::move(one), group.second, replies);
    if (replies->complete()) return;
    clock_.at(clock_.now() + patience, [replies] { replies->complete_early(); });
}

void renewer::send(batch some, unsigned replicas, const std::shared_ptr<base::renewal_replies>& replies) {
    const std::string key = some.items.front().key;
    script_call request = protocol_.call(some.items);
    auto answered = [this, some = std::move(some), replicas, replies](const reply& answer, unsigned have) {
        using enum spi::renewal_answer;
        const std::vector<std::size_t>& places = some.places;
        if (places.size() > 1 && answer.error() && answer.text.starts_with("TRYAGAIN")) {
            // Their slot is moving to another node, and some keys are there already.
            for (std::size_t i = 0; i < places.size(); ++i) send({{some.items[i]}, {places[i]}}, replicas, replies);
            return;
        }
        std::vector<spi::renewal_answer> each(places.size(), unknown);
        if (answer.is == reply::kind::text && answer.text.size() == places.size())
            std::ranges::transform(answer.text, each.begin(), [&](char letter) {
                return letter != '1' ? lost : have < replicas ? unknown : renewed;
            });
        replies->set(places, each);
    };
    servers_->ask_for(key, std::move(request), replicas, std::move(answered));
}

}  // namespace mortise::inline v0::stores::redis
