#!/bin/sh
# clang_syntax.sh <clang++> <build directory> <root of the repository>
# The second compiler: every C++ file the build compiles but the tests and fixtures, which no user of ours compiles, with the same
# flags, and warnings are errors. One that passed is looked at again when it, a header or a flag has changed.
set -eu

# check <clang++> <directory of stamps> <arguments and file>
check() {
    stamp=$2/$(printf '%s' "$1 $3" | cksum | tr ' ' -)
    if [ -e "$stamp" ]; then
        headers=$(sed -e 's/^[^ ]*: //' -e 's/\\$//' "$stamp.d")
        # shellcheck disable=SC2086
        if [ -z "$(find $headers -newer "$stamp" 2>&1)" ]; then return 0; fi
    fi
    rm -f "$stamp"
    touch "$stamp.begun"
    eval "$1 -fsyntax-only -Werror -MD -MF '$stamp.d' $3" && mv "$stamp.begun" "$stamp"
}

if [ "$1" = --check ]; then
    shift
    check "$@"
    exit
fi

clang=$1
root=$3/
commands=$2/compile_commands.json
stamps=$2/clang_syntax
if ! command -v "$clang" >/dev/null; then
    echo "clang++ 14 was not found: install the package clang-14" >&2
    exit 1
fi
if [ ! -s "$commands" ]; then
    echo "$commands is missing: configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON" >&2
    exit 1
fi

# One file a line, behind its arguments: JSON's backslashes, the compiler and what launches it are taken away, and of a file that
# the build made to include others, the others are looked at one by one, so that each has what it includes.
mkdir -p "$stamps"
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$commands" |
    sed -e 's/\\\(["\\]\)/\1/g' -e 's/^\([^- ][^ ]* \)*//' |
    awk '{
        made = $NF
        sub(/ -o .*/, "")
        if (made !~ /\/Unity\/unity_[0-9]+_cxx\.cxx$/) { print $0, made; next }
        sub(/ -Wno-shadow/, " -Wshadow-all")
        while ((more = (getline line <made)) > 0)
            if (split(line, parts, "\"") == 3 && parts[1] == "#include ") print $0, parts[2]
        close(made)
        if (more < 0) print $0, made  # cannot be read, as clang will say
    }' |
    awk -v root="$root" '{
        file = $NF
        if (index(file, root) == 1) file = substr(file, length(root) + 1)
        if (file ~ /_test\.cpp$/ || file ~ /^src\/stores\/[^\/]*\/(fixture\.cpp$|servers\/)/) next
        if (file ~ /^(build[^\/]*\/)?tests\// && file !~ /^tests\/consumer/) next
        if (file ~ /\.c(pp|xx)$/) print
    }' >"$stamps/list.txt"
grep -q '/src/core/[^ ]*$' "$stamps/list.txt" || { echo "the library is not among what $commands compiles" >&2; exit 1; }
count=$(wc -l <"$stamps/list.txt")

echo "$clang: $count files"
xargs -d '\n' -n 1 -P "$(nproc)" sh "$0" --check "$clang" "$stamps" <"$stamps/list.txt"
