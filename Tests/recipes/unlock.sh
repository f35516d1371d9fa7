# The recipe asks one question; before and after it, a process without a terminal gets no key.
is_locked() {
    local status=0
    setsid --wait vaultfile key list </dev/null >/dev/null 2>&1 || status=$?
    [ $status = 78 ]
}
is_locked
. "$RECIPE/1"
[ "$(cat "$RECIPE/answered")" = 1 ]
is_locked
[ -e report.txt.vault ]
vaultfile key unlock --for 1m
setsid --wait env -i HOME="$HOME" PATH="$PATH" vaultfile decrypt -o - report.txt.vault </dev/null | cmp - report.txt
vaultfile key lock
