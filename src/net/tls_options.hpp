// The options of TLS in a store's address: ca=FILE, cert=FILE, key=FILE, server_name=NAME.
#pragma once

#include "base/address_options.hpp"
#include "base/url.hpp"
#include "net/tls.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::net {

// Adds them to those that a store knows.
void know_tls(base::address_options& known, tls_settings& tls);

// When all options have been read: refuses what does not fit together and a key that others may read; loads the files if TLS
// is on. Throws errc::bad_url, or `unsupported` if this build has no TLS.
void load_tls(const base::url& address, tls_settings& tls);

}  // namespace mortise::inline v0::net
