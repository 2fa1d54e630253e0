#include "stock.hpp"

#include "failure.hpp"

#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

stock stock::of(count tickets) {
    const char* given = std::getenv("TMPDIR");
    const std::string directory = given == nullptr || *given == '\0' ? "/tmp" : given;
    std::string path = directory + "/ticket-shop-XXXXXX";
    descriptor file{::mkostemp(path.data(), O_CLOEXEC)};
    if (file.number() < 0) throw system_failure("cannot make a file for the stock in TMPDIR, " + directory);
    ::unlink(path.c_str());
    stock made{std::move(file)};
    made.write(tickets);
    return made;
}

count stock::read() const {
    count tickets = 0;
    if (::pread(number(), &tickets, sizeof tickets, 0) != sizeof tickets) throw system_failure("cannot read the stock");
    return tickets;
}

void stock::write(count tickets) const {
    if (::pwrite(number(), &tickets, sizeof tickets, 0) != sizeof tickets)
        throw system_failure("cannot write the stock");
}
