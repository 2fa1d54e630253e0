#!/bin/sh
# timed_waits.sh <library>
# Nothing waits until a time of the wall clock: the library calls none of the functions that do so, not even through a header of
# the standard library. wall_clock_test.cpp reads the sources for the rest.
set -eu
export LC_ALL=C
symbols=$(readelf -sW "$1")
case $symbols in *_ZN7mortise*) ;; *) echo "$1 is no library of ours" && exit 1 ;; esac
called=$(printf '%s\n' "$symbols" | awk '$7 == "UND" { sub(/@.*/, "", $8); print $8 }' | sort -u |
    grep -xE 'pthread_cond_timedwait|pthread_(mutex|rwlock)_timed[a-z]*lock|sem_timedwait|mq_timed(send|receive)|gettimeofday|timespec_get' || true)
[ -z "$called" ] && exit 0
echo "waits or is counted on the wall clock:"
printf '%s\n' "$called"
exit 1
