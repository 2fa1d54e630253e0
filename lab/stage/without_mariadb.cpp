// For a build without the store mysql, whose stories are left out too.
#include "lab/stage/mariadb.hpp"
#include "lab/stage/servers.hpp"

namespace lab {

std::unique_ptr<mariadb> start_mariadb(const std::string&) {
    throw not_installed("this build has no store mysql; apt-get install libmariadb-dev, and build it again");
}

}  // namespace lab
