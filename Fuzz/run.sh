#!/bin/sh
# Fuzz/run.sh FUZZER FOLDER SECONDS TARGET...: runs each target for SECONDS, with seeds and findings in FOLDER.
set -eu
fuzzer=$1 folder=$2 seconds=$3
shift 3
here=$(dirname "$0")
# Swift's crash reports would take the signal that libFuzzer waits for.
export SWIFT_BACKTRACE=enable=no VAULTFILE_PYTHON="${PYTHON:-/usr/bin/python3}"
if [ -d /dev/shm ]; then TMPDIR=$(mktemp -d /dev/shm/vaultfile-fuzz.XXXXXX); else TMPDIR=$(mktemp -d); fi
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Some shells do not run the EXIT trap after a signal.
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -p "$folder/findings"
"$VAULTFILE_PYTHON" "$here/seeds.py" "$folder/seeds"
longest=$("$VAULTFILE_PYTHON" "$here/seeds.py" --longest)
failed=
for target; do
    mkdir -p "$folder/corpus/$target"
    dictionary=
    if [ -f "$here/dictionaries/$target.dict" ]; then dictionary=-dict=$here/dictionaries/$target.dict; fi
    echo "== $target for $seconds s"
    # Regressions are seeds too: other faults may be near them.
    if ! "$fuzzer" --target="$target" -max_total_time="$seconds" -max_len="$longest" \
        -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 \
        -artifact_prefix="$folder/findings/$target-" $dictionary \
        "$folder/corpus/$target" "$folder/seeds/$target" "$here/regressions/$target" \
        >"$folder/$target.log" 2>&1 </dev/null; then
        failed="$failed $target"
        grep -a -E 'BROKEN|ERROR|SUMMARY|Test unit' "$folder/$target.log" || tail -5 "$folder/$target.log"
    fi
    grep -a -E 'DONE|executed_units|exec_per_sec' "$folder/$target.log" || true
done
if [ -n "$failed" ]; then
    echo "found something:$failed; the inputs are in $folder/findings" >&2
    exit 1
fi
