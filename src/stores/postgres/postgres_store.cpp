#include "stores/postgres/postgres_store.hpp"

#include "base/address_options.hpp"
#include "stores/postgres/advisory_store.hpp"
#include "stores/postgres/settings.hpp"

namespace mortise::inline v0::stores::postgres {

spi::store_factory open(const base::url& address) {
    settings found = settings::of(address);
    if (found.kind == settings::strategy::row)
        base::bad_address(address, "strategy=row is not in this build; add strategy=advisory");
    return
        [settings = std::move(found)](const spi::context& context) { return make_advisory_store(settings, context); };
}

}  // namespace mortise::inline v0::stores::postgres
