#include "lab/stage/interruption.hpp"

#include <initializer_list>

#include <signal.h>

namespace lab {
namespace {

volatile sig_atomic_t seen = 0;

}  // namespace

void expect_interruption() {
    struct sigaction what {};
    what.sa_handler = [](int signal) { seen = signal; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &what, nullptr);
}

int interrupted() {
    return seen;
}

}  // namespace lab
