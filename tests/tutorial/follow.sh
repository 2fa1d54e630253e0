#!/bin/bash
# follow.sh <page> <folder of its programs> <build directory of mortise> <scratch directory>
# Does what docs/tutorial.md says, from an empty directory, and compares what is printed with what the page shows. Before a
# command is typed, everything the page shows above it must have been printed. "..." stands for any output of a command that
# succeeds.
set -eu
page=$1 programs=$2 build=$3 scratch=$4
export LC_ALL=C

fail() {
    echo "$*" >&2
    exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch/files"
awk -v into="$scratch" -f "$(dirname "$0")/quotes.awk" "$page"
diff -r "$programs" "$scratch/files" || fail "$page does not quote $programs as it is"

cmake --install "$build" --prefix "$scratch/home/mortise" >"$scratch/install.txt" 2>&1 || fail "$(cat "$scratch/install.txt")"

# The page's port may be taken.
port=$((20000 + RANDOM % 10000))
while (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do port=$((20000 + RANDOM % 10000)); done
sed -i "s/6390/$port/g" "$scratch/transcript"

# A group of processes of its own, so that nothing is left of it.
set -m
coproc reader {
    cd "$scratch/files"
    # The page means host:, which all builds on a machine share.
    exec env HOME="$scratch/home" MORTISE_STORE="host:$scratch/locks" bash --noprofile --norc 2>&1
}
set +m
group=$reader_PID
trap 'kill -KILL -- "-$group" 2>/dev/null || true' EXIT
trap 'exit 1' HUP INT TERM
exec {typed}>&"${reader[1]}" {printed}<&"${reader[0]}"

# Times, processes, tokens and the width of columns differ from run to run.
normal() {
    sed -E 's/^[0-9]{2}:[0-9]{2}:[0-9]{2} /TIME /; s/[^ ]+ pid [0-9]+/HOST pid N/; s/[0-9]+ m?s /N s /g
        s/[0-9]{15,}/TOKEN/; s/ +/ /g' <<<"$1"
}

# The next line of the output, without what the shell says about its jobs.
next_line() {
    while read -r -t 60 -u "$printed" line; do
        [[ $line =~ ^bash:\ line\ [0-9]+:\ +[0-9]+\ (Killed|Terminated) ]] || return 0
    done
    return 1
}

number=0
while IFS= read -r shown <&3; do
    number=$((number + 1))
    if [ "${shown#\$ }" != "$shown" ]; then
        printf '%s\n' "${shown#\$ }" >&"$typed"
    elif [ "$shown" = ... ]; then
        echo "echo finished with \$?" >&"$typed"
        skipped=
        until [[ ${line-} == 'finished with '* ]]; do
            next_line || fail "no end of the output at line $number of the transcript"
            skipped+="$line"$'\n'
        done
        [ "$line" = 'finished with 0' ] || fail "$skipped"
        line=
    else
        next_line || fail "line $number of the transcript was not printed: $shown"
        [ "$(normal "$line")" = "$(normal "$shown")" ] || fail "the page shows:  $shown
but this came:   $line"
        if [[ $line =~ (holds the lock, token|seal with token)\ ([0-9]+) ]]; then
            [[ ${BASH_REMATCH[2]} > ${newest-0} ]] || fail "a token did not rise: $line"
            newest=${BASH_REMATCH[2]}
        fi
    fi
done 3<"$scratch/transcript"
[ $number -gt 20 ] || fail "$page has no transcript"

echo exit >&"$typed"
! next_line || fail "the page does not show: $line"
