#!/bin/sh
# made_at_first_use.sh <library>
# No variable of a function is made at its first use: the language does that under a lock, and a child of a fork that came in
# the midst would wait for it for ever (src/base/immortal.hpp says what to use). Those of a thread have no lock.
set -eu
export LC_ALL=C
symbols=$(readelf -sW "$1")
case $symbols in *_ZN7mortise*) ;; *) echo "$1 is no library of ours" && exit 1 ;; esac
made=$(printf '%s\n' "$symbols" | awk '$4 == "OBJECT" && $8 ~ /^_ZGV/ { print $8 }' | sort -u)
[ -z "$made" ] && exit 0
echo "made at first use:"
printf '%s\n' "$made" | c++filt
exit 1
