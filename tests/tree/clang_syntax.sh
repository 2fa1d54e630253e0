#!/bin/sh
# clang_syntax.sh <clang++> <build directory> <root of the repository>
# Every C++ file the build compiles but the tests, fixtures, checker and lab, which no user of ours compiles, alone, with the
# same flags, and warnings are errors: make syntax. One that passed is looked at again when it, a header or a flag has changed.
set -eu

# Most files include this one, and most of what clang reads is in it: it reads that once for all files with the same arguments.
# Files that do not include it, themselves or by a header of ours, are looked at without.
common=mortise/spi/store.hpp

number_of() { printf '%s' "$*" | cksum | tr ' ' -; }

# changed <stamp>: whether what was looked at then, or a header of it, has changed since.
changed() {
    [ -e "$1" ] || return 0
    headers=$(sed -e 's/^[^ ]*: //' -e 's/\\$//' "$1.d")
    # shellcheck disable=SC2086
    [ -n "$(find $headers -newer "$1" 2>&1)" ]
}

# check <clang++> <directory of stamps> <arguments and file>
check() {
    stamp=$2/$(number_of "$1" "$3")
    read_once=$2/$(number_of "$1" "${3% *}").pch
    given=
    if [ -e "$read_once" ] && grep -qxF "${3##* }" "$2/including.txt"; then given="-include-pch '$read_once'"; fi
    if ! changed "$stamp"; then return 0; fi
    rm -f "$stamp"
    touch "$stamp.begun"
    eval "$1 -fsyntax-only -Werror $given -MD -MF '$stamp.d' $3" && mv "$stamp.begun" "$stamp"
}

# read_once <clang++> <directory of stamps> <arguments>
read_once() {
    stamp=$2/$(number_of "$1" "$3").pch
    if ! changed "$stamp"; then return 0; fi
    eval "$1 -x c++-header -Werror -MD -MF '$stamp.d' $3 '$2/common.hpp' -o '$stamp'"
}

case $1 in
    --check | --read-once)
        verb=$1
        shift
        if [ "$verb" = --check ]; then check "$@"; else read_once "$@"; fi
        exit
        ;;
esac

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
        if (file ~ /^(lab|checker)\// || file ~ /\/generated\/lab_/) next
        if (file ~ /\.c(pp|xx)$/) print
    }' >"$stamps/list.txt"
grep -q '/src/core/[^ ]*$' "$stamps/list.txt" || { echo "the library is not among what $commands compiles" >&2; exit 1; }
count=$(wc -l <"$stamps/list.txt")

# All that include the common header, by whatever way. Files are known by their paths, headers by how they are included.
cd "$root"
printf '%s\n' "$common" >"$stamps/names.txt"
: >"$stamps/including.txt"
known=0
while [ "$(wc -l <"$stamps/names.txt")" -gt "$known" ]; do
    known=$(wc -l <"$stamps/names.txt")
    sed 's/.*/#include [<"]&[>"]/' "$stamps/names.txt" >"$stamps/patterns.txt"
    grep -rlf "$stamps/patterns.txt" include src tools | sort >"$stamps/found.txt"
    { sed -e 's,^include/,,' -e 's,^src/,,' "$stamps/found.txt"; printf '%s\n' "$common"; } | sort -u >"$stamps/names.txt"
    sed "s,^,$root," "$stamps/found.txt" >"$stamps/including.txt"
done

echo "$clang: $count files, of which $(grep -c '\.cpp$' "$stamps/including.txt") include $common"
sed 's/ [^ ]*$//' "$stamps/list.txt" | sort -u >"$stamps/arguments.txt"
[ -e "$stamps/common.hpp" ] || printf '#include <%s>\n' "$common" >"$stamps/common.hpp"
xargs -d '\n' -n 1 -P "$(nproc)" sh "$0" --read-once "$clang" "$stamps" <"$stamps/arguments.txt"
xargs -d '\n' -n 1 -P "$(nproc)" sh "$0" --check "$clang" "$stamps" <"$stamps/list.txt"
