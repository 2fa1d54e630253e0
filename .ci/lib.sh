# Shared by ./quickstart, ./test and .ci: packages, times, quiet builds. POSIX sh; the caller is in the root of the
# repository.

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# part "what" command...: runs it and says how long it took, also if it fails.
part() {
    what=$1
    shift
    begun=$(date +%s)
    failed=0
    "$@" || failed=$?
    say "$what: $(($(date +%s) - begun)) s"
    return $failed
}

# need package...: installs what is missing of it (Debian 12 names), as root or through sudo. Where there is no apt, the
# same things must be there already under their program names.
need() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        need_programs "$@"
        return
    fi
    missing=
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status} ' "$package" 2>/dev/null) in
            installed*) ;;
            *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null; then
        as_root=sudo
    else
        fail "These packages are missing:$missing
Install them as root (apt-get install$missing), then try again."
    fi
    say "Installing$missing"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $missing; } </dev/null >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        fail "The packages could not be installed:$missing"
    fi
    rm -f "$log"
}

# wish package what: the same, but where it cannot be had, says what is done without it.
wish() {
    (need "$1") || say "$2 $1 could not be installed."
}

need_programs() {
    missing=
    for package in "$@"; do
        case $package in
            g++) programs='g++ c++ clang++' text='a C++20 compiler (g++ 12 or clang 14, or newer)' ;;
            cmake) programs=cmake text='CMake 3.25 or newer' ;;
            ninja-build) programs='ninja' text='Ninja' ;;
            redis-server) programs='redis-server' text='Redis 7.0 or newer (redis-server and redis-cli)' ;;
            etcd-server) programs='etcd' text='etcd 3.4 or newer' ;;
            etcd-client) programs='etcdctl' text='etcdctl' ;;
            postgresql-15) programs='postgres /usr/lib/postgresql/*/bin/postgres' text='PostgreSQL 14 or newer (the server)' ;;
            mariadb-server-core) programs='mariadbd /usr/sbin/mariadbd' text='MariaDB 10.6 or newer (the server)' ;;
            chromium) programs='chromium chromium-browser google-chrome' text='Chromium' ;;
            openssl) programs='openssl' text='the command openssl' ;;
            clang-*[0-9]) programs="$(echo "$package" | sed 's/^clang-\([0-9]*\)$/clang++-\1/') ${package%-*}" text=$package ;;
            *) continue ;; # libraries: CMake looks for them and says what it misses
        esac
        found=
        for program in $programs; do
            if command -v "$program" >/dev/null; then found=yes; fi
        done
        [ -n "$found" ] || missing="$missing
  - $text"
    done
    [ -z "$missing" ] || fail "This system has no apt, so nothing can be installed here. Please install:$missing
All that is needed: a C++20 compiler, CMake 3.25 or newer and Ninja; for the tests also GoogleTest 1.12 or newer,
Boost 1.81 or newer, OpenSSL 3.0 or newer, Redis 7.0 or newer, clang 14 and, to check the format, clang-format 14."
}

# configure [option...]: configures build/, saying nothing unless it fails. The files of a target are compiled sixteen at a
# time, in half the time.
configure() { configure_in build "$@"; }
configure_in() {
    into=$1
    shift
    mkdir -p "$into"
    if ! cmake -S . -B "$into" -G Ninja -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 "$@" >"$into/configure.txt" 2>&1; then
        cat "$into/configure.txt" >&2
        fail "Configuring failed."
    fi
}

# What to tell CMake so that programs are linked in a quarter of the time; nothing where there is no lld.
fast_linker() {
    if command -v ld.lld >/dev/null; then echo -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld; fi
}

# build directory [target...]: a line of progress on a terminal, else only what goes wrong.
build() {
    directory=$1
    shift
    [ -t 1 ] || set -- "$@" --quiet
    ninja -C "$directory" "$@"
}
