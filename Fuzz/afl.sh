#!/bin/sh
# Fuzz/afl.sh VAULTFILE FOLDER SECONDS VERB...: runs AFL++ on the finished command, each verb for SECONDS. It tests what
# only the whole process does: files, pipes, threads, signals, exit statuses. VAULTFILE has AFL's instrumentation.
set -eu
vaultfile=$1 folder=$2 seconds=$3
shift 3
here=$(dirname "$0")
mkdir -p "$folder"
# Takes all inputs so far that one key opens, and that key.
"${PYTHON:-/usr/bin/python3}" "$here/one_key.py" "$folder" "$folder/../corpus/open" "$folder/../corpus/recover" \
    "$folder/../seeds/open" "$folder/../seeds/recover"
export AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_UI=1 AFL_NO_AFFINITY=1
# AFL++ continues from an earlier run.
export AFL_AUTORESUME=1 SWIFT_BACKTRACE=enable=no
# The status for an internal error counts as a crash.
export AFL_CRASH_EXITCODE=70 ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0
if [ -d /dev/shm ]; then TMPDIR=$(mktemp -d /dev/shm/vaultfile-fuzz.XXXXXX); else TMPDIR=$(mktemp -d); fi
export TMPDIR HOME="$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
found=
for verb; do
    echo "== $verb for $seconds s"
    set -- "$vaultfile"
    case $verb in
    decrypt) set -- "$@" decrypt --key-file "$folder/key" -f -o "$TMPDIR/output" @@ ;;
    # Reads standard input, as from a pipe: AFL gives it a file, which `-` reads in the same way.
    stream) set -- "$@" decrypt --key-file "$folder/key" -o - - ;;
    recover) set -- "$@" recover --key-file "$folder/key" -f -o "$TMPDIR/output" @@ ;;
    verify) set -- "$@" verify --key-file "$folder/key" @@ ;;
    *) set -- "$@" "$verb" @@ ;;
    esac
    # If the run failed, the figures below would be those of an earlier run.
    if ! timeout $((seconds + 120)) afl-fuzz -i "$folder/inputs" -o "$folder/$verb" -V "$seconds" -m none -t 5000+ \
        -- "$@" >"$folder/$verb.log" 2>&1 </dev/null; then
        tail -20 "$folder/$verb.log" >&2
        exit 1
    fi
    grep -E '^(execs_done|execs_per_sec|edges_found|saved_crashes|saved_hangs)' "$folder/$verb/default/fuzzer_stats"
    for kind in crashes hangs; do
        if [ -n "$(ls "$folder/$verb/default/$kind" 2>/dev/null)" ]; then found="$found $verb/default/$kind"; fi
    done
done
if [ -n "$found" ]; then
    echo "found something; the inputs are in $folder:$found" >&2
    exit 1
fi
