#!/usr/bin/env bash
# Runs the command of its arguments, a test run of Swift Testing. If it fails, prints what failed once more at the end:
# a log of two thousand tests is often kept only in part.
# usage: run-tests.sh COMMAND [ARGUMENT]...
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" 2>&1 | tee "$log"
status=$?
if [ "$status" != 0 ]; then
    printf '\nWhat failed:\n'
    # A failure goes on to the next line that begins with a sign of Swift Testing.
    awk '/^(✘|error:)/ { shown = 40 } /^(◇|✔|➜)/ { shown = 0 } shown-- > 0' "$log" | cut -c 1-1000 | head -n 300
fi
exit "$status"
