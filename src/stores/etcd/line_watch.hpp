// Tells a claim that waits when one of those before it has gone.
#pragma once

#include "base/line.hpp"
#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <memory>

namespace mortise::inline v0::stores::etcd {

class line_watch : public std::enable_shared_from_this<line_watch> {
public:
    using told = unique_function<void(const record&)>;

    line_watch(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table, told gone)
        : parts_(std::move(parts)), table_(std::move(table)), gone_(std::move(gone)) {}

    // Those that the verdict names, instead of those before.
    void watch(const record& claim, const base::line_verdict& judged, const line_snapshot& found);
    void stop(const record& claim);

private:
    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
    told gone_;
};

}  // namespace mortise::inline v0::stores::etcd
