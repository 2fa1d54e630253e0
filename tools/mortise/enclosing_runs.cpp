#include "enclosing_runs.hpp"

#include "claim_arguments.hpp"
#include "descendants.hpp"
#include "failure.hpp"
#include "text.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

#include <unistd.h>

namespace command {
namespace {

// The runs that this process is a part of, from the inside out.
struct enclosing_runs {
    std::vector<pid_t> guardians{};
    std::vector<std::string> tokens{};  // what their commands were given

    static enclosing_runs find() {
        enclosing_runs all;
        constexpr std::string_view wanted = "MORTISE_TOKEN=";
        for (auto at = process_at(::getpid()); at && at->pid > 1; at = process_at(at->parent)) {
            if (at->name == guardian_name && at->pid != ::getpid()) all.guardians.push_back(at->pid);
            std::ifstream environment{"/proc/" + std::to_string(at->pid) + "/environ"};
            for (std::string each; std::getline(environment, each, '\0');)
                if (each.starts_with(wanted)) all.tokens.push_back(each.substr(wanted.size()));
        }
        return all;
    }

    // Host names and process numbers may be the same in two containers; then the tokens are not.
    bool include(const mortise::holder& one) const {
        const auto has = [](const auto& all, const auto& each) {
            return std::find(all.begin(), all.end(), each) != all.end();
        };
        return has(guardians, static_cast<pid_t>(one.pid)) &&
               has(tokens, one.token == mortise::token{} ? "" : to_string(one.token));
    }
};

}  // namespace

void refuse_self_wait(mortise::client& locks, const mortise::claim& wanted) {
    const enclosing_runs around = enclosing_runs::find();
    if (around.guardians.empty()) return;
    std::error_code ec;
    std::uint64_t taken = 0;
    mortise::holder by;
    for (const mortise::held_lock& each : locks.list(ec)) {
        if (each.name != wanted.name || !around.include(each.holder)) continue;
        taken += each.weight;
        by = each.holder;
    }
    // Where the store does not answer, the claim says so.
    if (ec || taken == 0 || taken + wanted.weight <= wanted.capacity) return;
    refuse(in_quotes(wanted.name) + " is held by the `mortise run` that runs this command (" + by.host + " pid " +
           std::to_string(by.pid) + "), so it would wait for itself; omit the inner run, or use another name");
}

}  // namespace command
