// etcd, as somebody at a terminal talks to it.
#pragma once

#include "lab/stage/actor.hpp"

#include <string>

namespace lab {

// Runs `etcdctl WORDS` and returns what it prints, without the last end of line. Throws if it fails.
std::string etcdctl(actor& me, const std::string& words);

}  // namespace lab
