// A client of MySQL and MariaDB, and a server that is none.
#include "fuzz/hostile_server.hpp"
#include "fuzz/target.hpp"

namespace mortise::fuzzing::mysql_server {

void run(std::string_view input) {
    drive(input, "mysql://user:word@127.0.0.1:%p/mortise", hostile_server::manners::greets);
}

}  // namespace mortise::fuzzing::mysql_server
