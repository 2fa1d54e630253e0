// A client of PostgreSQL, and a server that is none.
#include "fuzz/hostile_server.hpp"
#include "fuzz/target.hpp"

namespace mortise::fuzzing::postgres_server {

void run(std::string_view input) {
    drive(input, "postgres://user:word@127.0.0.1:%p/mortise", hostile_server::manners::waits);
}

}  // namespace mortise::fuzzing::postgres_server
