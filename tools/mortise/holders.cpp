#include "holders.hpp"

#include "text.hpp"

#include <chrono>

namespace command {

std::string who(const mortise::holder& one) {
    std::string text = plain(one.host) + " pid " + std::to_string(one.pid);
    return one.label.empty() ? text : text + " (" + plain(one.label) + ")";
}

json as_json(const mortise::holder& one) {
    json made;
    made.add("host", one.host).add("pid", one.pid).add("label", one.label);
    made.add("held_for_s", std::chrono::duration<double>(one.held_for).count());
    made.add("token", mortise::to_string(one.token));
    return made;
}

json as_json(const mortise::held_lock& one) {
    json made;
    made.add("name", one.name).add("holder", as_json(one.holder));
    made.add("capacity", std::int64_t{one.capacity}).add("weight", std::int64_t{one.weight});
    made.add("waiting", static_cast<std::int64_t>(one.waiting));
    return made;
}

}  // namespace command
