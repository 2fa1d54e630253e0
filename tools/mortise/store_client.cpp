#include "store_client.hpp"

#include "report.hpp"

namespace command {

std::shared_ptr<mortise::client> client_of(const settings& how, mortise::client_options options) {
    if (how.patience) options.patience = *how.patience;
    // host: has nobody who could refuse a connection; when it fails, the machine is busy.
    if (how.tries_once && !how.store.starts_with("host:"))
        options.try_patience = how.patience.value_or(std::chrono::nanoseconds::zero());
    auto made = std::make_shared<mortise::client>(how.store, std::move(options));
    if (how.verbose) {
        json details;
        details.add("store", made->store());
        if (how.store_from.empty())
            details.add("from", nullptr);
        else
            details.add("from", how.store_from);
        inform(how.json, "store", details,
               "the store is " + plain(made->store()) +
                   (how.store_from.empty() ? ", the default" : ", from " + how.store_from));
    }
    return made;
}

}  // namespace command
