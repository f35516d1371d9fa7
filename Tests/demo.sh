#!/usr/bin/env bash
# Does the command's main work on a real file: encrypts, verifies, inspects, decrypts, compares, changes the key.
# Usage: demo.sh VAULTFILE [FILE]
# Without FILE it takes a large file of the system. It never looks into home folders or /var, whose files are private.
set -euo pipefail
vaultfile=$(realpath "$1")
file=${2:-}
if [ -n "$file" ]; then file=$(realpath "$file"); fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# An archive of the system's own files, of a little more than 100 MB, in case no single file is large enough.
make_archive() {
    local size path total=0
    while IFS=' ' read -r -d '' size path; do
        printf '%s\0' "$path"
        total=$((total + size))
        [ $total -lt 110000000 ] || break
    done < <(find /usr /opt -xdev -type f -size -50M -readable -printf '%s %p\0' 2>/dev/null) |
        tar --create --file "$1" --null --files-from - --absolute-names
    [ "$(stat -c %s "$1")" -gt 100000000 ]
}

if [ -z "$file" ]; then
    # Links are not followed: one may lead to a home folder.
    file=$(find /usr /opt -xdev -type f -size +100000000c -size -4G -readable 2>/dev/null | head -n 1) || true
fi
if [ -z "$file" ]; then
    file=$work/system.tar
    make_archive "$file" || {
        echo "This system has less than 100 MB of files in /usr and /opt. Name a file: Tests/demo.sh VAULTFILE FILE" >&2
        exit 1
    }
fi

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo "The input: $file ($(stat -L -c %s "$file") bytes)"
PATH=$(dirname "$vaultfile"):$PATH
show vaultfile key generate -o key.txt
show vaultfile encrypt --key-file key.txt --digest -o backup.vault "$file"
show ls -l backup.vault
show vaultfile verify --key-file key.txt backup.vault
show vaultfile inspect --key-file key.txt backup.vault
show vaultfile decrypt --key-file key.txt -o restored backup.vault
show cmp "$file" restored
echo "The same bytes came back."

printf '\nThe key changes by two small writes, however large the container is.\n'
show vaultfile key generate -o new.txt
show vaultfile rotate --add file:new.txt --remove file:key.txt backup.vault
show vaultfile verify --key-file new.txt backup.vault
if vaultfile verify --key-file key.txt backup.vault 2>/dev/null; then
    echo "The old key still opens the container." >&2
    exit 1
fi
echo "The old key no longer opens it."

printf '\nOne byte in the middle of the container changes:\n'
middle=$(($(stat -c %s backup.vault) / 2))
byte=$(dd if=backup.vault bs=1 skip=$middle count=1 status=none | od -An -tu1)
printf "\\$(printf %03o $((byte ^ 1)))" | dd of=backup.vault bs=1 seek=$middle count=1 conv=notrunc status=none
if show vaultfile verify --key-file new.txt backup.vault; then
    echo "vaultfile did not notice the change." >&2
    exit 1
fi
echo "vaultfile noticed the change."
