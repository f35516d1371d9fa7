#!/usr/bin/env bash
# The main job on a real file: encrypt, verify, inspect, decrypt, compare, change the key.
# Usage: demo.sh VAULTFILE [FILE]
set -euo pipefail
vaultfile=$(realpath "$1")

# A file of at least 100 MB that nobody made for this.
file=${2:-}
if [ -z "$file" ]; then
    file=$(find -L /usr /opt /var /home "$HOME" -xdev -type f -size +100M -size -4G -readable 2>/dev/null |
        head -n 1) || true
fi
if [ -z "$file" ]; then
    echo "There is no file of at least 100 MB here; name one: Tests/demo.sh VAULTFILE FILE" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

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

printf '\nIts key changes: two small writes, whatever its size.\n'
show vaultfile key generate -o new.txt
show vaultfile rotate --add file:new.txt --remove file:key.txt backup.vault
show vaultfile verify --key-file new.txt backup.vault
if vaultfile verify --key-file key.txt backup.vault 2>/dev/null; then
    echo "The old key still opens it." >&2
    exit 1
fi
echo "The old key opens it no more."

printf '\nOne byte in the middle of the container is changed:\n'
middle=$(($(stat -c %s backup.vault) / 2))
byte=$(dd if=backup.vault bs=1 skip=$middle count=1 status=none | od -An -tu1)
printf "\\$(printf %03o $((byte ^ 1)))" | dd of=backup.vault bs=1 seek=$middle count=1 conv=notrunc status=none
if show vaultfile verify --key-file new.txt backup.vault; then
    echo "The change was not noticed." >&2
    exit 1
fi
echo "It was noticed."
