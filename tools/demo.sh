#!/bin/sh
# The main job from end to end, every command shown before it runs: pin, run two harnesses, look, compare,
# verify, carry the run to a second store, and show that the report there is the same. Run by `make demo`.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
out=demo-output
rm -rf "$out"
mkdir -p "$out"
HEMRA_STORE="$PWD/$out/store"
export HEMRA_STORE

# The command line goes to the demo's own output even where the command's is kept in a file.
exec 3>&1
show() {
    {
        printf '\n$'
        for word in "$@"; do
            case "$word" in
            *[!A-Za-z0-9_./:=,@+-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
            esac
        done
        printf '\n'
    } >&3
    "$@"
}

show hemra dataset pin hermes
show hemra run --dataset hermes --harness oracle --harness nop --attempts 2 --jobs 2 --name demo | tee "$out/run-id"
run=$(tail -n 1 "$out/run-id")

show hemra runs
show hemra tail demo --trial 0001 --lines 20
show hemra tail demo --type 'run.*'
show hemra report demo -o "$out/report.md"
show head -n 16 "$out/report.md"
show hemra compare demo:oracle demo:nop
show hemra replay demo >"$out/replayed.txt"

show hemra log verify
show hemra log export demo -o "$out/demo.tar"
show hemra log import "$out/demo.tar" --store "$out/second-store"
show hemra report "$run" -o "$out/here.json"
show hemra report "$run" --store "$out/second-store" -o "$out/there.json"
show cmp "$out/here.json" "$out/there.json"
printf '\nThe report in the second store is the same, byte for byte. All of it is in %s/.\n' "$out"
