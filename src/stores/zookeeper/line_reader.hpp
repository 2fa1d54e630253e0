// Reads lines of claims. Claims of one client on one name share listings.
#pragma once

#include "base/line.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// What a line's own node has as long as those who asked for a lock that is kept have written to it, and no exchange.
inline constexpr std::string_view asked_mark = "a";
inline bool exchanged(const node_stat& floor) {
    return floor.version > 0 && floor.data_length != static_cast<std::int32_t>(asked_mark.size());
}

// A line as it was read once.
struct line_listing {
    std::vector<node_name> nodes{};
    base::judged_line verdicts{entries_of(nodes)};
    node_stat floor{};  // of the line's own node, which exchanges write to, and those who ask for a lock that is kept

    // Whether there may have been an exchange after a grant with this number.
    bool exchanged_since(std::uint64_t counter) const { return exchanged(floor) && floor.changed > counter; }
    // Whether somebody waits, or asked after a grant with this number and left.
    bool wanted_since(std::uint64_t counter) const {
        return (floor.version > 0 && floor.changed > counter) || !verdicts.all_hold();
    }

    const node_name* find(const claim_id& id) const {
        const auto at = verdicts.index_of(id);
        return at ? &nodes[*at] : nullptr;
    }
};

// Safe to use from all threads.
class line_reader {
public:
    using callback = unique_function<void(const request_status&, const line_listing&)>;

    line_reader(const naming& names, session& servers) : names_(names), servers_(servers) {}

    // Calls it with the line at `path`, which shows the effect of every request of this session that was sent before; if
    // `synced`, of every request of anybody. One listing serves all who ask while another is under way: a listing is as long
    // as its line, and a crowd must not ask for as many as it has members.
    void read(const std::string& path, bool synced, callback);

    void close() noexcept;  // the callbacks go uncalled

private:
    void send(const std::string& path);

    const naming& names_;
    session& servers_;

    // One listing of a line is under way, and these wait for the next.
    struct next_listing {
        bool synced = false;
        std::vector<callback> callbacks{};
    };
    std::mutex mutex_;
    std::unordered_map<std::string, next_listing> next_;  // by path
};

}  // namespace mortise::inline v0::stores::zookeeper
