#!/bin/sh
# clang_syntax.sh <clang++> <build directory>
# The second compiler: every C++ file the build compiles, with the same flags, and warnings are errors.
set -eu
clang=$1
commands=$2/compile_commands.json

if ! command -v "$clang" >/dev/null; then
    echo "clang++ 14 was not found: install the package clang-14" >&2
    exit 1
fi
if [ ! -s "$commands" ]; then
    echo "$commands is missing: configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON" >&2
    exit 1
fi

# One command a line: the compiler is replaced, the output dropped, the quotes taken out of JSON.
list=$2/clang_syntax.txt
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$commands" |
    sed -n '/\.cpp$/{
        s/\\\(["\\]\)/\1/g
        s/^[^ ]* //
        s/ -o [^ ]*//
        s/ -c / /
        s/ -fsanitize=[^ ]*//g
        p
    }' >"$list"
count=$(wc -l <"$list")
if [ "$count" -eq 0 ]; then
    echo "no command was found in $commands" >&2
    exit 1
fi

echo "$clang: $count files"
clang=$clang xargs -d '\n' -n 1 -P "$(nproc)" sh -c 'eval "$clang -fsyntax-only -Werror $0" || exit 1' <"$list"
