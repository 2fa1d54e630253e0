// A GET over plain HTTP.
#pragma once

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::etcd {

// The response with its headers; empty if it does not arrive within seconds.
std::string http_get(const std::string& endpoint, const std::string& path);

}  // namespace mortise::inline v0::stores::etcd
