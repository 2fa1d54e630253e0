// Does every claim in the store belong to somebody, and is nobody kept waiting for a lock that nobody holds?
//
//     const audit_verdict found = audit(lease + 2s, [&] { return fixture.records_at(url); }, [&] { return admitted_by({&a, &b}); });
//     EXPECT_TRUE(found.innocent()) << found.describe();
//
// To be asked after a fault has healed, while all clients still live: what the clients of the dead left behind has to be gone
// within the bound too, but only the living can say what is theirs.
#pragma once

#include <mortise/client.hpp>
#include <mortise/spi/audit.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::testing {

// What was seen at one instant, or nearly so.
struct audit_sighting {
    std::chrono::steady_clock::time_point at{};
    std::vector<spi::stored_claim> stored{};
    std::vector<spi::admitted_claim> admitted{};  // by all living clients
};

struct audit_verdict {
    std::vector<spi::stored_claim> orphans{};  // stored, and no client admits to them
    std::vector<std::string> idle{};           // names that somebody waits for and nobody holds

    bool innocent() const noexcept { return orphans.empty() && idle.empty(); }
    std::string describe() const;  // "2 orphans, 1 idle name: ..."
};

// Pure. Looking at a store and at its clients takes time, so one sighting proves nothing. It convicts what stays as it is
// through all sightings of a span that is not shorter than the bound:
//
//   an orphan   the same id is stored, and nobody admits to it
//   idle        somebody waits for the name, nobody says to hold it, and the store has the same claims hold it, or none
class audit_judge {
public:
    explicit audit_judge(std::chrono::nanoseconds bound) : bound_(bound) {}

    void see(const audit_sighting& now);  // in the order of time

    // Whether anything that was suspect at the first sighting is neither cleared nor convicted.
    bool undecided() const;
    const audit_verdict& found() const noexcept { return found_; }

private:
    using time_point = std::chrono::steady_clock::time_point;
    using holders = std::set<claim_id>;
    struct orphan {
        time_point since;
        bool convicted = false;
    };
    struct idle_name {
        time_point since;
        holders stored;
        bool convicted = false;
    };
    void look_for_orphans(const audit_sighting& now);
    void look_for_idle_names(const audit_sighting& now);
    bool long_enough(time_point since, time_point now) const { return now - since >= bound_; }

    const std::chrono::nanoseconds bound_;
    std::optional<time_point> first_{};
    std::map<std::pair<std::string, claim_id>, orphan> orphans_{};
    std::map<std::string, idle_name> idle_{};
    audit_verdict found_{};
};

// Looks until all that was suspect at first is cleared, which takes a moment if all is well, or convicted.
audit_verdict audit(std::chrono::nanoseconds bound, const std::function<std::vector<spi::stored_claim>()>& stored,
                    const std::function<std::vector<spi::admitted_claim>()>& admitted);

std::vector<spi::admitted_claim> admitted_by(const std::vector<const client*>& clients);

}  // namespace mortise::testing
