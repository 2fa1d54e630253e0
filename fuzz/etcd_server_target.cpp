// A client of etcd, and a server that is none.
#include "fuzz/hostile_server.hpp"
#include "fuzz/target.hpp"

namespace mortise::fuzzing::etcd_server {

void run(std::string_view input) {
    drive(input, "etcd://127.0.0.1:%p", hostile_server::manners::waits);
}

}  // namespace mortise::fuzzing::etcd_server
