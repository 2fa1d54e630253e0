// A wall clock that lies, for LD_PRELOAD: proves that no lease is counted on it, or moves the clock of a server.
//
//   MORTISE_TEST_WALL=offset=3600   the wall clock is an hour ahead (negative: behind)
//   MORTISE_TEST_WALL=jump=3600     every reading leaps ahead or back in turn, by half an hour to an hour; which, is
//                                   pseudo-random but the same in every run
//   MORTISE_TEST_WALL=spread=3600   every process has a clock of its own, at most so far ahead or behind
//   MORTISE_TEST_WALL=file=PATH     as far ahead as the file says, now: eight bytes, seconds (checker/faults/movable_clock.hpp)
//   MORTISE_TEST_WALL=still=PATH    the time in the file: eight bytes, nanoseconds since 1970. It stands still until somebody
//                                   writes another (lab/stage/time.hpp)
//
// Only the wall clocks lie; monotonic, boot and CPU clocks are left alone. These functions may be called before the
// C library has set itself up, so they use no lock, no heap, no thread-local and no lookup of the real function: the
// truth comes straight from the kernel.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum mode { unread, honest, offset, jump, spread, file, still };

// Two threads that read the environment at once write the same values.
static _Atomic int mode_now = unread;
static _Atomic int64_t seconds = 0;
static _Atomic uint64_t readings = 0;
static _Atomic int64_t* _Atomic in_file = NULL;

static int read_mode(void) {
    if (environ == NULL) return honest;  // too early to know: ask again next time
    const char* told = getenv("MORTISE_TEST_WALL");
    int found = honest;
    if (told != NULL && strncmp(told, "offset=", 7) == 0) found = offset;
    if (told != NULL && strncmp(told, "jump=", 5) == 0) found = jump;
    if (told != NULL && strncmp(told, "spread=", 7) == 0) found = spread;
    if (told != NULL && strncmp(told, "file=", 5) == 0) found = file;
    if (told != NULL && strncmp(told, "still=", 6) == 0) found = still;
    if (found == file || found == still) {
        const int fd = (int)syscall(SYS_openat, AT_FDCWD, strchr(told, '=') + 1, O_RDONLY | O_CLOEXEC);
        void* page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
        if (fd >= 0) syscall(SYS_close, fd);
        if (page == MAP_FAILED) abort();  // an honest clock would prove nothing
        atomic_store(&in_file, page);
    } else if (found != honest)
        atomic_store(&seconds, strtoll(strchr(told, '=') + 1, NULL, 10));
    atomic_store(&mode_now, found);
    return found;
}

static uint64_t scramble(uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static int current_mode(void) {
    const int mode = atomic_load(&mode_now);
    return mode == unread ? read_mode() : mode;
}

static int64_t error_now(void) {
    const int mode = current_mode();
    if (mode == honest) return 0;
    if (mode == file) return atomic_load(atomic_load(&in_file));
    const int64_t most = atomic_load(&seconds);
    if (mode == offset || most <= 0) return most;
    if (mode == spread) return (int64_t)(scramble((uint64_t)syscall(SYS_getpid)) % (2 * (uint64_t)most + 1)) - most;
    const uint64_t n = atomic_fetch_add(&readings, 1);
    const int64_t size = most - (int64_t)(scramble(n) % ((uint64_t)most / 2 + 1));
    return n % 2 == 0 ? size : -size;
}

int clock_gettime(clockid_t which, struct timespec* now) {
    const int result = (int)syscall(SYS_clock_gettime, which, now);
    if (result == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE || which == CLOCK_TAI)) {
        if (current_mode() == still) {
            const int64_t told = atomic_load(atomic_load(&in_file));
            now->tv_sec = told / 1000000000;
            now->tv_nsec = told % 1000000000;
        } else
            now->tv_sec += error_now();
    }
    return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
    struct timespec exact;
    if (zone != NULL) memset(zone, 0, sizeof(struct timezone));
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* now) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
    if (now != NULL) *now = exact.tv_sec;
    return exact.tv_sec;
}

int timespec_get(struct timespec* now, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}
