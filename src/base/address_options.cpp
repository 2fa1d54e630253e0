#include "base/address_options.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::base {

void bad_address(const url& address, const std::string& what) {
    throw error(errc::bad_url, "store address " + quoted(address.masked()) + ": " + what);
}

void read_options(const url& address, const address_options& known) {
    for (const auto& [key, value] : address.query) {
        const auto option = known.find(key);
        if (option == known.end()) {
            std::string all;
            for (const auto& [name, ignored] : known) all += (all.empty() ? "" : ", ") + name;
            bad_address(address, "there is no option " + quoted(key) + "; there are " + all);
        }
        option->second(value);
    }
}

}  // namespace mortise::inline v0::base
