#!/bin/sh
# old_standard.sh <compiler> <include directory> [header...]
# C++17: each public header ends the compilation with one error, which says what to do.
set -eu
compiler=$1
include=$2
shift 2
expected='Mortise needs C++20: compile with -std=c++20'

failed=0
for header in "$@"; do
    if said=$(printf '#include <%s>\nint main() { mortise::client locks{"host:"}; }\n' "$header" |
        "$compiler" -std=c++17 -fsyntax-only -I"$include" -x c++ - 2>&1); then
        echo "$header compiles as C++17" >&2
        failed=1
        continue
    fi
    errors=$(printf '%s\n' "$said" | grep 'error:' || true)
    case $errors in
        *error:*error:*)
            printf '%s: more than one error as C++17:\n%s\n' "$header" "$errors" >&2
            failed=1
            ;;
        *"$expected"*) ;;
        *)
            printf '%s: as C++17, not "%s" but:\n%s\n' "$header" "$expected" "$said" >&2
            failed=1
            ;;
    esac
done
exit $failed
