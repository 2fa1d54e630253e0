#!/bin/sh
# ticket_shop_accidents.sh <ticket_shop> <1 if host: is built>
# Sellers are killed and stopped, and the shop itself is killed. It must notice, say so in one line, end, and leave nobody
# behind. The stock is far too large to be sold meanwhile.
set -eu
program=$1
scratch=$(mktemp -d)
shop=
trap 'if [ -n "$shop" ]; then kill -9 "$shop" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT PIPE TERM

export SHOP_STOCK=10000000 SHOP_THREADS=2 SHOP_PROCESSES=3 SHOP_PATIENCE=30 MORTISE_STORE="host:$scratch/locks"
if [ "$2" != 1 ]; then export SHOP_PROCESSES=1 MORTISE_STORE=memory:; fi

fail() {
    echo "$*" >&2
    cat "$scratch/complaint" >&2
    exit 1
}

# until_true <what> <command...>: at most a minute.
until_true() {
    what=$1
    shift
    tries=0
    while ! "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "waited in vain: $what"
        sleep 0.1
    done
}

# The process ids of the sellers: children of the shop that have begun to be what they are.
sellers() {
    for status in $(grep -ls "^PPid:[[:space:]]*$shop\$" /proc/[0-9]*/status); do
        if grep -qs -e --seller "${status%/status}/cmdline"; then basename "${status%/status}"; fi
    done
}
all_present() { [ "$(sellers | wc -l)" = "$SHOP_PROCESSES" ]; }

# A process that nobody has asked about yet may remain as a zombie; it does nothing any more.
gone() {
    for pid in "$@"; do
        if grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status"; then return 1; fi
    done
}

open_shop() {
    "$program" "$1" >"$scratch/output" 2>"$scratch/complaint" &
    shop=$!
    until_true "the sellers of $1" all_present
    crew=$(sellers)
}

# closes <round> <regular expression of the only line>
closes() {
    status=0
    wait "$shop" || status=$?
    shop=
    [ $status = 1 ] || fail "lock=$1: ended with $status"
    [ "$(wc -l <"$scratch/complaint")" = 1 ] || fail "lock=$1: more or less than one line"
    grep -q "^ticket_shop: .*$2.* lock=$1" "$scratch/complaint" || fail "lock=$1: not what was expected"
    # shellcheck disable=SC2086
    gone $crew || fail "lock=$1: a seller is left"
}

for round in none local mortise; do
    open_shop $round
    victim=$(echo "$crew" | tail -n 1)
    kill -9 "$victim"
    closes $round "seller process $victim was ended by signal 9"
done

export SHOP_PATIENCE=5
open_shop mortise
# shellcheck disable=SC2086
kill -STOP $crew
closes mortise 'did nothing for 5 s'
grep -q '(stopped)' "$scratch/complaint" || fail "does not say who is stopped"

for signal in TERM KILL; do
    open_shop mortise
    kill -$signal "$shop"
    wait "$shop" || true
    shop=
    # shellcheck disable=SC2086
    until_true "the end of the sellers after SIG$signal" gone $crew
done
