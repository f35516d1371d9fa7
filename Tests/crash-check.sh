#!/usr/bin/env bash
# Kills the command at each of its system calls. After each kill, the container must open with the right contents, or the
# store must have its items as before or as afterwards, and a second run must finish the work. Prints a line for each
# operation and start: how many kinds of calls it makes, how often it was killed, how often the container was unchanged
# then, how many files remained beside it. faults/run.py tests calls that fail.
# Usage: [ONLY=PATTERN] crash-check.sh VAULTFILE [FOLDER]...
# ONLY limits it to the operations and starts that match, such as ONLY=store or ONLY='put store'.
# Each FOLDER is on a file system to test; the default is the folder for temporary files, and /dev/shm. Needs strace.
set -euo pipefail
vaultfile=$(realpath "$1")
shift
command -v strace >/dev/null || { echo "strace is missing" >&2; exit 1; }

places=("$@")
if [ ${#places[@]} = 0 ]; then
    places=("${TMPDIR:-/tmp}")
    if [ -d /dev/shm ]; then places+=(/dev/shm); fi
fi
unset VAULTFILE_KEY_FILE VAULTFILE_UNLOCK

work=
trap 'rm -rf "$work"' EXIT

# What opens the stores.
lock="--device-key file:stay --unlock file:k1"

# Everything runs inside the folder.
run() { "$vaultfile" "$@" >>log 2>&1; }
# The option for a file of a key or of an identity.
by() { case $1 in *.id) echo --identity "$1" ;; *) echo --key-file "$1" ;; esac; }
opens() { "$vaultfile" decrypt $(by "$1") -f -o opened c.vault >>log 2>&1 && cmp -s plain opened; }
recipient() { sed -n 's/^# public key: //p' "$1"; }

# The operations. Key `stay` stays, `old` goes, `new` comes. `people` and `same` have an identity in place of the key, of
# the kind that their start names.
perform() {
    local kind=${2%-*}
    case $1 in
    people) echo rotate --key-file stay --add "$(recipient "$kind-new.id")" --remove "$(recipient "$kind-old.id")" c.vault ;;
    same) echo reencrypt --unlock file:stay --key-file stay --add file:stay --same-recipients c.vault ;;
    rotate | small) echo rotate --key-file stay --add file:new --remove file:old c.vault ;;
    growth) echo rotate --key-file stay --add file:new --add file:k1 --add file:k2 --remove file:old c.vault ;;
    reencrypt) echo reencrypt --key-file stay --add file:stay --add file:new --remove others c.vault ;;
    repair) echo repair --key-file stay c.vault ;;
    header) echo rotate --key-file stay --add file:new --remove file:old c.hdr ;;
    detach) echo detach --key-file stay --header c.hdr c.vault ;;
    attach) echo attach --key-file stay --header c.hdr c.vault ;;
    encrypt) echo encrypt --key-file stay --key-file old --header c.hdr -o c.vault plain ;;
    create) echo store create -S s $lock ;;
    put) echo store put -S s $lock --class complete --as new tiny ;;
    replace) echo store put -S s $lock --as a tiny ;;
    remove) echo store remove -S s --device-key file:stay a ;;
    move) echo store move -S s $lock a new ;;
    protect) echo store protect -S s $lock --class always a ;;
    settle) echo store check -S s $lock --repair ;;
    renew) echo store rotate -S s $lock --class complete ;;
    unlockers) echo store passphrase -S s --unlock file:k1 --add file:new --remove file:old ;;
    wipe) echo store wipe -S s --yes ;;
    esac
}

# Puts the files of start $1 in their places.
begin() {
    case $1 in
    store-*) rm -rf s && cp -a "$1.start" s ;;
    apart) cp apart.start c.vault && cp header.start c.hdr ;;
    whole) cp intact.start c.vault && rm -f c.hdr ;;
    none) rm -f c.vault c.hdr ;;
    *) cp "$1.start" c.vault ;;
    esac
}

# Makes the containers to start from: NAME.start. An interrupted rotation has the old front and the rest of the rotated
# file.
prepare() {
    head -c 300000 /dev/urandom >plain
    head -c 3000 plain >tiny
    for key in stay old new k1 k2; do run key generate -o "$key"; done
    run encrypt --key-file stay --key-file old --header-capacity 4096 -o intact.start plain
    cp intact.start c.vault
    run rotate --key-file stay --add file:new --remove file:old c.vault
    { head -c 4096 intact.start; tail -c +4097 c.vault; } >unfinished.start
    { head -c 512 c.vault; head -c 4096 intact.start | tail -c +513; tail -c +4097 c.vault; } >front-torn.start
    local tail=$(($(stat -c %s intact.start) - 32 - 4096))
    { head -c "$tail" intact.start; tail -c +$((tail + 1)) c.vault | head -c 512
        tail -c +$((tail + 513)) intact.start; } >tail-torn.start
    { head -c -32 intact.start; head -c 32 /dev/zero; } >no-footer.start
    rm c.vault
    # Its slots in a header file.
    cp intact.start apart.start
    run detach --key-file stay --header header.start apart.start
    # One slot fewer than fit in 4096 bytes.
    local many=(--key-file stay --key-file old)
    for number in $(seq 40); do
        run key generate -o "many$number"
        many+=(--key-file "many$number")
    done
    run encrypt "${many[@]}" --header-capacity 4096 -o full.start plain
    run encrypt --key-file stay --key-file old --header-capacity 512 -o tiny.start tiny
    # Slots of types 3 and 4; and containers for someone whom the keyring knows.
    for kind in x25519 xwing; do
        for who in old new; do
            run key generate --recipient $([ $kind = xwing ] || echo --x25519) -o "$kind-$who.id"
            run encrypt --key-file stay -r "$(recipient "$kind-$who.id")" --header-capacity 4096 -o "$kind-$who.start" plain
        done
        run key import --unlock file:stay --name "$kind" -r "$(recipient "$kind-new.id")"
    done
    # A store with an item of each class. The last one is not settled: a program without the owner's key has written it.
    mkdir store-none.start
    run store create -S s $lock
    run store passphrase -S s --unlock file:k1 --add file:old
    run store put -S s $lock --class complete --as a plain
    run store put -S s $lock --class always --as b tiny
    run store put -S s $lock --class after-first-unlock --as c tiny
    run store put -S s --device-key file:stay --class unless-open --as d tiny
    mv s store-items.start
}

# Prints the items of the store: class, name, and sum of the contents. Prints the status if it does not open.
holdings() {
    local status=0 class name
    "$vaultfile" store list -S s $lock -l >list 2>>log || status=$?
    [ $status = 0 ] || { echo "status $status"; return; }
    while read -r class _ _ name; do
        echo "$class $name $("$vaultfile" store get -S s $lock "$name" 2>>log | sha256sum)"
    done <list
}

# The files of the keys that open the container after operation $1 from start $2, and that do not.
coming() { case $1 in people | same) echo "${2%-*}-new.id" ;; *) echo new ;; esac; }
going() { case $1 in people | same) echo "${2%-*}-old.id" ;; *) echo old ;; esac; }

lost() {
    printf '    LOST: %s\n' "$*"
    losses=$((losses + 1))
}

# Checks the container after operation $1 from start $2 was stopped; $3 says how. Then runs the operation again.
check() {
    local files=(.vaultfile-*)
    left=$((left + ${#files[@]}))
    # Of all kills that leave the container unchanged and nothing beside it, one is checked.
    if cmp -s c.vault "$2.start"; then
        same=$((same + 1))
        [ $same = 1 ] || [ ${#files[@]} != 0 ] || return 0
    fi
    if ! opens stay; then
        # Only repair can fix this one.
        [ "$2" = no-footer ] || lost "$1 from $2, $3: it does not open"
    fi
    if ! run $(perform "$1" "$2"); then
        lost "$1 from $2, $3: the second run does not succeed: $(tail -n 1 log)"
        return
    fi
    files=(.vaultfile-*)
    if [ ${#files[@]} != 0 ]; then
        lost "$1 from $2, $3: after the second run ${files[*]} is there"
        rm -f "${files[@]}"
    fi
    run verify --key-file stay c.vault || lost "$1 from $2, $3: after the second run it is not whole"
    opens stay || lost "$1 from $2, $3: after the second run it does not open"
    [ "$1" = repair ] && return
    opens "$(coming "$1" "$2")" || lost "$1 from $2, $3: the new key does not open it"
    local status=0
    run decrypt $(by "$(going "$1" "$2")") -f -o opened c.vault || status=$?
    [ $status = 77 ] || lost "$1 from $2, $3: the old key gets $status"
}

# The same for a container whose slots are in the header file c.hdr, or go there, or come from there: one of both opens it.
opens_apart() {
    { [ -e c.hdr ] && "$vaultfile" decrypt --key-file "$1" --header c.hdr -f -o opened c.vault >>log 2>&1; } ||
        "$vaultfile" decrypt --key-file "$1" -f -o opened c.vault >>log 2>&1 || return
    cmp -s plain opened
}

check_apart() {
    local files=(.vaultfile-*) status=0
    left=$((left + ${#files[@]}))
    case $2 in
    apart) if cmp -s c.vault apart.start && cmp -s c.hdr header.start; then same=$((same + 1)); fi ;;
    whole) if cmp -s c.vault intact.start && [ ! -e c.hdr ]; then same=$((same + 1)); fi ;;
    none) if [ ! -e c.vault ] && [ ! -e c.hdr ]; then same=$((same + 1)); fi ;;
    esac
    if [ "$2" = none ] && [ ! -e c.vault ]; then
        # A header file without a container holds nothing that could be lost, and is not replaced.
        rm -f c.hdr
    else
        opens_apart stay || lost "$1 from $2, $3: it does not open"
        if [ "$1" = encrypt ]; then return; fi
    fi
    if [ "$1" = attach ] && [ ! -e c.hdr ]; then
        # The work was done. Without the file there is nothing to attach.
        cmp -s c.vault apart.start && lost "$1 from $2, $3: the header file is gone"
    elif ! run $(perform "$1" "$2"); then
        lost "$1 from $2, $3: the second run does not succeed: $(tail -n 1 log)"
        return
    fi
    opens_apart stay || lost "$1 from $2, $3: after the second run it does not open"
    files=(.vaultfile-*)
    [ ${#files[@]} = 0 ] || lost "$1 from $2, $3: after the second run ${files[*]} is there"
    rm -f "${files[@]}"
    case $1 in
    header)
        opens_apart new || lost "$1 from $2, $3: the new key does not open it"
        run decrypt --key-file old --header c.hdr -f -o opened c.vault || status=$?
        [ $status = 77 ] || lost "$1 from $2, $3: the old key gets $status" ;;
    attach) [ ! -e c.hdr ] || lost "$1 from $2, $3: the header file is still there" ;;
    *)
        run decrypt --key-file stay -f -o opened c.vault || status=$?
        [ $status != 0 ] || lost "$1 from $2, $3: it opens without its header file" ;;
    esac
}

# The same for a store: it has its items as before the operation or as after it.
check_store() {
    local found files
    files=$(find s -name '.vaultfile-*' | wc -l)
    left=$((left + files))
    if diff -rq s "$2.start" >/dev/null; then
        same=$((same + 1))
        [ $same = 1 ] || return 0
    fi
    found=$(holdings)
    # Only the same call finishes an unfinished store.
    [ "$1" = create ] || [ "$found" = "$before" ] || [ "$found" = "$after" ] ||
        lost "$1 from $2, $3: the items are: $found"
    if [ "$found" != "$after" ] || [ "$before" = "$after" ]; then
        run $(perform "$1" "$2") || lost "$1 from $2, $3: the second run does not succeed: $(tail -n 1 log)"
        found=$(holdings)
        [ "$found" = "$after" ] || lost "$1 from $2, $3: after the second run the items are: $found"
    fi
    [ "$1" != wipe ] || return 0
    run store check -S s $lock --repair || lost "$1 from $2, $3: afterwards the store is not whole"
    [ -z "$(find s -name '.vaultfile-*')" ] || lost "$1 from $2, $3: after a repair unfinished files are there"
    [ "$1" = unlockers ] || return 0
    run store check -S s --device-key file:stay --unlock file:new || lost "$1 from $2, $3: the new key does not unlock it"
    local status=0
    run store check -S s --device-key file:stay --unlock file:old || status=$?
    [ $status = 77 ] || lost "$1 from $2, $3: the old key gets $status"
}

# Prints the names of the system calls that operation $1 makes from start $2, after the start of the program itself.
# Each line has the number of such calls that the loader and the language made before. Each thread counts its own calls;
# so the first calls of other threads cannot be hit, because a kill at that number would hit the loader.
calls() {
    begin "$2"
    strace -f -qq -o trace -- "$vaultfile" $(perform "$1" "$2") >>log 2>&1 || return
    sed -nE 's/^([0-9]+ +)?([a-z0-9_]+)\((PR_SET_DUMPABLE)?.*/\2 \3/p' trace | awk '
        $2 != "" { begun = 1 }
        begun { made[$1] = 1; next }
        { before[$1]++ }
        END { for (call in made) print call, before[call] + 0 }' | sort
}

# Kills operation $1 from start $2 at its calls named $3, one after the other, beginning after the first $4. The signal
# comes before the call is made.
kill_at() {
    local number=$(($4 + 1)) status
    while :; do
        begin "$2"
        status=0
        # The braces catch the message of the shell about the killed process.
        { strace -f -qq -o trace -e trace="$3" -e inject="$3:signal=KILL:when=$number" -- \
            "$vaultfile" $(perform "$1" "$2") || status=$?; } >>log 2>&1
        grep -q SIGKILL trace || break
        killed=$((killed + 1))
        case $2 in
        store-*) check_store "$1" "$2" "killed at $3 $number" ;;
        apart | whole | none) check_apart "$1" "$2" "killed at $3 $number" ;;
        *) check "$1" "$2" "killed at $3 $number" ;;
        esac
        number=$((number + 1))
    done
    [ $status = 0 ] || lost "$1 from $2: without a kill its status is $status: $(tail -n 1 log)"
}

# CRASHES, a pattern of grep, chooses some lines of the list below.
total=0 stops=0
for place in "${places[@]}"; do
    work=$(mktemp -d "$place/vaultfile-crash.XXXXXX")
    cd "$work"
    shopt -s nullglob
    export HOME=$work VAULTFILE_KEYRING=$work/ring.vault
    prepare
    printf '%s (%s)\n' "$place" "$(df --output=fstype . | tail -n 1)"
    printf '    %-10s %-12s %7s %7s %10s %7s %5s\n' operation from calls killed unchanged beside lost
    while read -r operation start; do
        [[ "$operation $start" =~ ${ONLY:-.} ]] || continue
        killed=0 same=0 left=0 losses=0
        cp plain contents
        if [ "$start" = tiny ]; then cp plain plain.all && cp tiny plain; fi
        if [[ $start = store-* ]]; then begin "$start" && before=$(holdings); fi
        mapfile -t made < <(calls "$operation" "$start")
        if [[ $start = store-* ]]; then after=$(holdings); fi
        for call in "${made[@]}"; do kill_at "$operation" "$start" ${call}; done
        # Without a single kill, nothing was tested.
        [ $killed != 0 ] || lost "$operation from $start: it was killed nowhere"
        mv contents plain
        printf '    %-10s %-12s %7d %7d %10d %7d %5d\n' \
            "$operation" "$start" ${#made[@]} "$killed" "$same" "$left" "$losses"
        total=$((total + losses))
        stops=$((stops + killed))
    done < <(grep -E "${CRASHES:-.}" <<'END'
rotate intact
rotate unfinished
rotate front-torn
rotate tail-torn
small tiny
growth full
growth tiny
reencrypt intact
reencrypt unfinished
repair unfinished
repair front-torn
repair tail-torn
repair no-footer
people x25519-old
people xwing-old
same x25519-new
same xwing-new
header apart
detach whole
attach apart
encrypt none
create store-none
put store-items
replace store-items
remove store-items
move store-items
protect store-items
settle store-items
renew store-items
unlockers store-items
wipe store-items
END
    )
    cd /
    rm -rf "$work"
done
echo "$stops times stopped, $total lost"
[ "$total" = 0 ]
