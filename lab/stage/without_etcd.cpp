// For a build without the store etcd, whose story is left out too.
#include "lab/stage/etcd.hpp"
#include "lab/stage/servers.hpp"

namespace lab {

std::unique_ptr<etcd> start_etcd() {
    throw not_installed("this build has no store etcd; apt-get install libnghttp2-dev, and build it again");
}

}  // namespace lab
