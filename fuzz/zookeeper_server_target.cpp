// A client of ZooKeeper, and a server that is none.
#include "fuzz/hostile_server.hpp"
#include "fuzz/target.hpp"

namespace mortise::fuzzing::zookeeper_server {

void run(std::string_view input) {
    drive(input, "zookeeper://127.0.0.1:%p", hostile_server::manners::waits);
}

}  // namespace mortise::fuzzing::zookeeper_server
