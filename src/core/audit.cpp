// What a client admits to. See include/mortise/spi/audit.hpp.
#include "core/engine.hpp"

#include <mortise/spi/audit.hpp>

namespace mortise::inline v0::spi {

std::vector<admitted_claim> admitted(const client& of) {
    return core::access::engine_of(of)->admitted();
}

}  // namespace mortise::inline v0::spi
