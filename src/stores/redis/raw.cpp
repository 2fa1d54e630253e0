#include "stores/redis/raw.hpp"

namespace mortise::inline v0::stores::redis {

mortise::raw_limits bare_limits(const settings&) {
    return {};
}

}  // namespace mortise::inline v0::stores::redis
