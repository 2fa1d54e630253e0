// Keys. A name is a folder of keys, one for each claim on it, by the claim's id.
#pragma once

#include "stores/etcd/settings.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::etcd {

// native:       PREFIX/<name, with / and % escaped>/<id>    so `a` and `a/b` never meet
// concurrency:  <name>/<lease>                              as Go's clientv3/concurrency and etcdctl lock have it
class key_layout {
public:
    explicit key_layout(const settings& how) : native_(how.protocol == settings::layout::native), prefix_(how.prefix) {}

    bool native() const noexcept { return native_; }

    std::string folder_of(std::string_view name) const;  // ends in a slash
    std::string key_of(std::string_view name, const claim_id& id) const;

    // The id in a key, after its folder. None: the key is nobody's claim.
    std::optional<claim_id> id_in(std::string_view rest) const;

    // Where an id is written down that must not be claimed any more.
    std::string gone_key_of(const claim_id& id) const { return prefix_ + "/%gone/" + id.hex(); }

    // All that is ours, and what it says: the name, and where in the key the id begins.
    std::string everything() const { return prefix_ + "/"; }
    struct parts {
        std::string name;
        claim_id id;
    };
    std::optional<parts> read(std::string_view key) const;

private:
    const bool native_;
    const std::string prefix_;
};

// The end of the range of all keys that begin so.
std::string end_of(std::string_view folder);

// The lease of a claim that has one to itself. It follows from the id, so that a repeat means the same lease.
std::int64_t lease_of(const claim_id& id) noexcept;

}  // namespace mortise::inline v0::stores::etcd
