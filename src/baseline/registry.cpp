#include "baseline/registry.hpp"

namespace mortise::inline v0 {

baselines baselines_of(const std::string& address) {
    const base::url parsed = base::url::parse(address);
    for (const baseline_entry& entry : registered_baselines())
        if (entry.scheme == parsed.scheme) return entry.make(parsed);
    return {};
}

}  // namespace mortise::inline v0
