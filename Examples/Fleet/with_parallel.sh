#!/bin/sh
# GNU parallel and the command, for files: header files, or containers in place.
# usage: with_parallel.sh INVENTORY OLD-KEY-FILE NEW-KEY-FILE [JOBS]
exec parallel --quote --pipe --jobs "${4:-2}" -N 250 vaultfile rotate --quiet --json --key-file "$2" \
    --add "file:$3" --remove "file:$2" --files-from - --jobs 1 <"$1"
