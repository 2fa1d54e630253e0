// Keys. A name is a folder of keys, one for each claim on it.
#pragma once

#include "stores/etcd/settings.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::etcd {

// native:       PREFIX/<name, with / and % escaped>/<client>.<n>    so `a` and `a/b` never meet
//               PREFIX/<name, with / and % escaped>/<id>            of a detached claim, which others have to find
// concurrency:  <name>/<lease>                                      as Go's clientv3/concurrency and etcdctl lock have it
//
// A client uses its keys again: etcd keeps deleted ones in memory until it is compacted, and goes past them when it reads a
// folder.
class key_layout {
public:
    explicit key_layout(const settings& how) : native_(how.protocol == settings::layout::native), prefix_(how.prefix) {}

    bool native() const noexcept { return native_; }

    std::string folder_of(std::string_view name) const;  // ends in a slash
    std::string key_in(std::string_view folder, const claim_id& id) const;
    static std::string key_in(std::string_view folder, std::string_view client, unsigned n);

    // concurrency: the lease in a key, after its folder. None: there is none.
    static std::optional<std::uint64_t> lease_in(std::string_view rest);

    // Where an id is written down that must not be claimed any more.
    std::string gone_key_of(const claim_id& id) const { return prefix_ + "/%gone/" + id.hex(); }

    // All that is ours, and whose it is.
    std::string everything() const { return prefix_ + "/"; }
    std::optional<std::string> name_in(std::string_view key) const;

private:
    const bool native_;
    const std::string prefix_;
};

// The end of the range of all keys that begin so.
std::string end_of(std::string_view folder);

// The lease of a claim that has one to itself. It follows from the id, so that a repeat means the same lease.
std::int64_t lease_of(const claim_id& id) noexcept;

}  // namespace mortise::inline v0::stores::etcd
