// The options of TLS in a store's address: ca=FILE, cert=FILE, key=FILE, server_name=NAME.
#pragma once

#include "base/address_options.hpp"
#include "base/url.hpp"
#include "net/tls.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::net {

// Adds the TLS options to those of a store.
void know_tls(base::address_options& known, tls_settings& tls);

// Call it after all options were read. Refuses options that do not fit together and a key that others can read; loads
// the files if TLS is on. Throws errc::bad_url, or `unsupported` if this build has no TLS.
void load_tls(const base::url& address, tls_settings& tls);

}  // namespace mortise::inline v0::net
