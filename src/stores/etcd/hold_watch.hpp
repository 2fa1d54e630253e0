// Tells when the key of a hold has gone. Watched are holds that have lasted for a moment: most do not.
#pragma once

#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class hold_watch : public std::enable_shared_from_this<hold_watch> {
public:
    using told = unique_function<void(const record&)>;

    hold_watch(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table, told gone)
        : parts_(std::move(parts)), table_(std::move(table)), gone_(std::move(gone)) {}

    void add(const record& claim);

private:
    void begin();
    void look(const record& claim);

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
    told gone_;

    std::mutex mutex_;
    std::vector<std::weak_ptr<claim_record>> next_;  // held, and their keys are not watched yet
    bool soon_ = false;
};

// Unless it has gone on meanwhile.
void add_watch(claim_table& table, watcher& watches, const record& claim, bool held, watcher::number made);

}  // namespace mortise::inline v0::stores::etcd
