#!/bin/sh
# All tests, in two processes side by side: most of them wait for programs and disks, and one after the other they
# take twice as long. With arguments: one pytest with those. Prints one report after the other; fails if either does.
set -u
cd "$(dirname "$0")/.."
python=.venv/bin/python
if [ "$#" -gt 0 ]; then
    exec "$python" -m pytest -m "not torture" "$@"
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'kill "$one" "$two" 2>/dev/null; exit 130' INT TERM
# What is in neither list is found by the second: a new folder of tests is never left out.
"$python" -m pytest -m "not torture" -p no:cacheprovider tests/hemra tests/e2e >"$out/one" 2>&1 &
one=$!
"$python" -m pytest -m "not torture" -p no:cacheprovider tests --ignore=tests/hemra --ignore=tests/e2e >"$out/two" 2>&1 &
two=$!
wait "$one"
first=$?
wait "$two"
second=$?
cat "$out/one" "$out/two"
[ "$first" = 0 ] && [ "$second" = 0 ]
