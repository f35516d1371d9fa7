#!/usr/bin/env bash
# Compiles Tests/C/test.c as a user of the library would, and runs it alone, with AddressSanitizer, and under valgrind.
# usage: run.sh LIBRARY   (the folder .build/library)
set -euo pipefail
library=$(realpath "$1")
here=$(dirname "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PKG_CONFIG_PATH=$library/lib/pkgconfig LD_LIBRARY_PATH=$library/lib
read -ra flags <<<"$(pkg-config --cflags --libs libvaultfile)"
compile() {
    local output=$1
    shift
    "$@" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g "$here/test.c" -o "$folder/$output" "${flags[@]}" -pthread
}
run() {
    echo "== $1"
    rm -rf "$folder/files"
    mkdir "$folder/files"
    shift
    timeout 900 "$@"
}

compile test "${CC:-cc}"
run "alone" "$folder/test" "$folder/files"
run "with little memory" "$folder/test" "$folder/files" little-memory
# The program in the documents.
echo "== Documentation/C.md"
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$here/../../Documentation/C.md" >"$folder/document.c"
"${CC:-cc}" -std=c99 -Wall -Wextra -Werror "$folder/document.c" -o "$folder/document" "${flags[@]}"
(cd "$folder" && ./document) | grep -x 'nobody without the key'
compile test-address "${CLANG:-clang}" -fsanitize=address,undefined -fno-sanitize-recover=undefined
run "AddressSanitizer" env ASAN_OPTIONS=detect_leaks=1 "$folder/test-address" "$folder/files"
# Swift's own tables are never freed; they are still reachable at the end, and no leak.
run "valgrind" valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite --max-stackframe=10000000 \
    --suppressions="$here/valgrind.supp" "$folder/test" "$folder/files"
