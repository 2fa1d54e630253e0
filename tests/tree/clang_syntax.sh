#!/bin/sh
# clang_syntax.sh <clang++> <build directory>
# The second compiler: every C++ file the build compiles but the tests, which no user of ours compiles, with the same flags, and
# warnings are errors. Files of a target are looked at eight at a time. Those that passed are looked at again when one of them,
# a header or a flag has changed.
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

# One command a line: JSON's backslashes and the compiler are taken away.
rm -rf "$stamps/fresh"
mkdir -p "$stamps/fresh"
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$commands" |
    sed -n '/_test\.cpp$/d; /\/tests\//{ /\/tests\/consumer/!d; }; /\.cpp$/{
        s/\\\(["\\]\)/\1/g
        s/^[^ ]* //
        p
    }' >"$stamps/commands.txt"
count=$(wc -l <"$stamps/commands.txt")
[ "$count" -gt 0 ] || { echo "no command was found in $commands" >&2; exit 1; }

# A file that includes eight, and the arguments for it. What did not change keeps its time.
awk -v into="$stamps" '{
    file = $NF
    match($0, / -o [^ ]*\.dir\//)
    target = substr($0, RSTART + 4, RLENGTH - 9)
    gsub("/", "_", target)
    sub(/ -o .*/, "")
    if (files[target, $0]++ % 8 == 0) {
        batch[target, $0] = target "_" batches[target]++ ".cxx"
        print $0, into "/" batch[target, $0]
    }
    printf "#include \"%s\"\n", file >(into "/fresh/" batch[target, $0])
}' "$stamps/commands.txt" >"$stamps/list.txt"
for fresh in "$stamps"/fresh/*.cxx; do
    kept=$stamps/${fresh##*/}
    cmp -s "$fresh" "$kept" || cp "$fresh" "$kept"
done

echo "$clang: $count files"
xargs -d '\n' -n 1 -P "$(nproc)" sh "$0" --check "$clang" "$stamps" <"$stamps/list.txt"
