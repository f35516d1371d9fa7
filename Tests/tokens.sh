#!/usr/bin/env bash
# Makes the store of Documentation/Scenarios.md, and compares what the example Tokens prints with the page.
set -euo pipefail
vaultfile=$(realpath "$1") tokens=$(realpath "$2")
page=$(realpath "$(dirname "$0")/../Documentation/Scenarios.md")
cd "$3"
rm -rf stick secrets dev.key
mkdir stick
"$vaultfile" key generate -q -o stick/owner.key
"$vaultfile" key generate -q -o dev.key
"$vaultfile" store create -q -S secrets --device-key file:dev.key --unlock file:stick/owner.key
echo T0k3n | "$vaultfile" store put -q -S secrets --device-key file:dev.key --class always --as api-token
echo pa55 | "$vaultfile" store put -q -S secrets --device-key file:dev.key --unlock file:stick/owner.key \
    --class complete --as database-key
"$tokens" secrets dev.key stick/owner.key >printed
sed -n '/^    Tokens secrets/,/^$/p' "$page" | sed -n 's/^    //p' | tail -n +2 | diff - printed
