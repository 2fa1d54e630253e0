#include "claims.hpp"

#include "settings.hpp"
#include "text.hpp"

#include <unistd.h>

namespace command {

mortise::claim claim_of(const request& asked) {
    mortise::claim wanted{.name = asked.given.words.front()};
    if (const auto wait = asked.given.value("--wait")) wanted.options.wait = read_duration("-w", *wait);
    if (const auto lease = asked.given.value("--lease")) wanted.options.lease = read_duration("--lease", *lease);
    wanted.options.label = asked.given.value("--label").value_or(asked.settings.label.value_or(""));
    return wanted;
}

std::string this_holder() {
    char host[256]{};
    ::gethostname(host, sizeof host - 1);
    return std::string(host) + ":" + std::to_string(::getpid());
}

}  // namespace command
