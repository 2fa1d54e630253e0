// Reads the line of a claim: of a long one what is near, and the whole only if that does not tell how the claim stands. If many
// claims of this client wait in it, one reads the front for all that were woken.
#pragma once

#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/rpc_result.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class line_reader : public std::enable_shared_from_this<line_reader> {
public:
    struct reading {
        rpc_result reply{};
        std::optional<line_snapshot> found{};        // none: it was not read
        std::optional<base::line_verdict> judged{};  // of the claim, if that was found out already
        bool unchanged = false;                      // nor need it be: the claim waits as it did before
        bool further_back = false;                   // only the front was read, and the claim is behind that
    };
    using then = unique_function<void(const reading&)>;

    line_reader(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table)
        : parts_(std::move(parts)), table_(std::move(table)) {}

    // For a claim that is in the line, or was. `asked`: for the core, which asks whether anything has changed.
    void read(const record& claim, bool asked, then done);
    // All of it, also for a claim that leaves.
    void read_whole(const record& claim, then done);

    // Whoever is still owed an answer gets none, and is let go of.
    void close() noexcept;

private:
    struct reader {
        record claim{};
        then done{};
    };

    void peek(const record& claim, std::vector<claim_record::neighbour> before, then done);
    void glance(const record& claim, then done);
    void read_near(const record& claim, bool asked, then done);
    void read_front(const record& claim, then done);
    void read_front_for(std::string folder, std::vector<reader> all);
    void tell(reader one, const rpc_result& reply, const std::optional<line_snapshot>& front,
              const base::judged_line& line);
    members::made_late while_wanted(const record& claim, std::string request) const;

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;

    std::mutex mutex_;
    // Who reads the front next, by folder: what is under way may be too old for them.
    std::unordered_map<std::string, std::vector<reader>> fronts_;
    bool closed_ = false;
};

}  // namespace mortise::inline v0::stores::etcd
