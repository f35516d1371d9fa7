#!/usr/bin/env bash
# Says what is wrong with the Swift toolchain and what to do about it; says nothing if it works. `make` runs this before
# it builds, because the errors of a broken toolchain do not name their cause.
# Usage: check-swift.sh SWIFT...   (the command that runs Swift, with its arguments)
set -uo pipefail
least=6.2
install=https://www.swift.org/install/

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

path=$(command -v "$1") || fail "Swift is missing: there is no '$1' on the PATH." \
    "Install Swift $least or later ($install), or name it: make SWIFT=/path/to/usr/bin/swift"

# Runs a command; if it fails, shows its output and what is known of the cause.
try() {
    local what=$1 output
    shift
    output=$("$@" 2>&1) && { printf '%s' "$output"; return; }
    fail "Swift is broken: '$what' fails. It says:" "$(head -n 20 <<<"$output" | sed 's/^/    /')" "$(causes)"
}

# What is missing beside Swift itself.
causes() {
    local bin missing
    bin=$(dirname "$(realpath "$path")")
    missing=$(for program in swift-driver swift-frontend swift-package; do
        ldd "$bin/$program" 2>/dev/null
    done | sed -n 's/^[[:space:]]*\(.*\) => not found.*/\1/p' | sort -u | paste -sd ' ' -)
    [ -z "$missing" ] || printf 'Its programs need libraries that this system lacks: %s\n' "$missing"
    printf '%s\n' "Install the packages that Swift needs on this system, which $install lists, or Swift itself again."
}

version=$(try "$* --version" "$@" --version) || exit 1
number=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$version" | head -n 1)
[ -n "$number" ] || fail "'$*' is not Swift: '$* --version' says: $(head -n 1 <<<"$version")" \
    "Name the right one: make SWIFT=/path/to/usr/bin/swift"
if [ "$(printf '%s\n' "$least" "$number" | sort -V | head -n 1)" != "$least" ]; then
    fail "Swift $number is too old: $path. vaultfile needs $least or later: $install" \
        "If another version is installed, name it: make SWIFT=/path/to/usr/bin/swift"
fi

try "$* package --version" "$@" package --version >/dev/null || exit 1

# A program of one line: it fails where the C library's headers or the linker are missing.
compiler=$(dirname "$path")/swiftc
if [ -x "$compiler" ]; then
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    printf 'print(1)\n' >"$folder/one.swift"
    try "swiftc one.swift" "$compiler" -module-cache-path "$folder" -o "$folder/one" "$folder/one.swift" >/dev/null ||
        exit 1
fi
