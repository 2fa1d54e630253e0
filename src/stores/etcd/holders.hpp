// Who holds a line, for people.
#pragma once

#include "base/line.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::etcd {

// etcd keeps no times, so nobody knows for how long.
mortise::holder holder_of(const stored_claim& claim);

spi::standing standing_of(const line_snapshot& found, const base::line_verdict& judged);

}  // namespace mortise::inline v0::stores::etcd
