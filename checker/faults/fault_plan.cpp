#include "checker/faults/fault_plan.hpp"

namespace mortise::testing {

void fault_plan::add(verb v, fault what, int n) {
    std::scoped_lock guard{mutex_};
    if (n > 0) of(v).script.push_back({what, n});
}

void fault_plan::fail_renewals_of(const std::string& name, int n) {
    std::scoped_lock guard{mutex_};
    failing_names_[name] = n;
}

void fault_plan::delay(verb v, std::chrono::nanoseconds there, std::chrono::nanoseconds back) {
    std::scoped_lock guard{mutex_};
    of(v).there = there;
    of(v).back = back;
}

std::vector<std::shared_ptr<fault_gate>> fault_plan::gates() const {
    std::vector<std::shared_ptr<fault_gate>> alive;
    for (const auto& weak : gates_) {
        if (auto gate = weak.lock()) alive.push_back(std::move(gate));
    }
    return alive;
}

void fault_plan::freeze() {
    std::scoped_lock guard{mutex_};
    frozen_ = true;
    for (const auto& gate : gates()) gate->freeze();
}

void fault_plan::thaw() {
    std::vector<std::shared_ptr<fault_gate>> alive;
    {
        std::scoped_lock guard{mutex_};
        frozen_ = false;
        alive = gates();
    }
    for (const auto& gate : alive) gate->thaw();
}

void fault_plan::heal() {
    {
        std::scoped_lock guard{mutex_};
        for (auto& one : tracks_) {
            one.script.clear();
            one.there = one.back = {};
        }
        failing_names_.clear();
    }
    thaw();
}

std::uint64_t fault_plan::calls(verb v) const {
    std::scoped_lock guard{mutex_};
    return of(v).calls;
}

std::uint64_t fault_plan::arrived(verb v) const {
    std::scoped_lock guard{mutex_};
    return of(v).arrived;
}

std::size_t fault_plan::ids(verb v) const {
    std::scoped_lock guard{mutex_};
    return of(v).ids.size();
}

bool fault_plan::saw(verb v, const claim_id& id) const {
    std::scoped_lock guard{mutex_};
    return of(v).ids.contains(id);
}

fault fault_plan::begin(verb v, const std::vector<claim_id>& by) {
    std::scoped_lock guard{mutex_};
    track& at = of(v);
    ++at.calls;
    at.ids.insert(by.begin(), by.end());
    if (at.script.empty()) return fault::none;
    step& next = at.script.front();
    const fault what = next.what;
    if (next.left != for_ever && --next.left == 0) at.script.pop_front();
    return what;
}

void fault_plan::arrive(verb v) {
    std::scoped_lock guard{mutex_};
    ++of(v).arrived;
}

bool fault_plan::renewal_fails(const std::string& name) {
    std::scoped_lock guard{mutex_};
    const auto found = failing_names_.find(name);
    if (found == failing_names_.end() || found->second <= 0) return false;
    if (found->second != for_ever) --found->second;
    return true;
}

std::chrono::nanoseconds fault_plan::delay_there(verb v) const {
    std::scoped_lock guard{mutex_};
    return of(v).there;
}

std::chrono::nanoseconds fault_plan::delay_back(verb v) const {
    std::scoped_lock guard{mutex_};
    return of(v).back;
}

void fault_plan::attach(const std::shared_ptr<fault_gate>& gate) {
    std::scoped_lock guard{mutex_};
    std::erase_if(gates_, [](const auto& weak) { return weak.expired(); });
    gates_.push_back(gate);
    if (frozen_) gate->freeze();
}

}  // namespace mortise::testing
