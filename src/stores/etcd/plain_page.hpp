// A page of a member over plain HTTP.
#pragma once

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::etcd {

// Empty if it cannot be had within some seconds.
std::string plain_page(const std::string& endpoint, const std::string& path);

}  // namespace mortise::inline v0::stores::etcd
