// A client of Redis, and a server that is none.
#include "fuzz/hostile_server.hpp"
#include "fuzz/target.hpp"

namespace mortise::fuzzing::redis_server {

void run(std::string_view input) {
    drive(input, "redis://127.0.0.1:%p", hostile_server::manners::waits);
}

}  // namespace mortise::fuzzing::redis_server
