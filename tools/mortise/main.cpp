// The `mortise` command. verbs.hpp says where a verb is added.
#include "dispatch.hpp"

#include <vector>

#include <fcntl.h>

// What we open must never get the number of a closed standard descriptor: our own output would land in it. Whoever uses one
// still finds that it cannot be read, or written.
static void fill_standard_descriptors() {
    for (int fd = 0; fd < 3; ++fd)
        if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int count, char** given) {
    fill_standard_descriptors();
    return command::dispatch(std::vector<std::string>(given + (count > 0 ? 1 : 0), given + count));
}
