# The job as cron starts it: the variables of the table, /bin/sh, and no terminal.
mkdir data
echo contents >data/file
. "$RECIPE/1"
variables=() job=
while read -r line; do
    case $line in
    [A-Z]*=*) variables+=("$line") ;;
    [0-9*]*) job=$(cut -d ' ' -f 6- <<<"$line") ;;
    esac
done <"$RECIPE/2"
as_cron() {
    setsid --wait env -i HOME="$HOME" LOGNAME="$(id -un)" SHELL=/bin/sh PATH=/usr/bin:/bin "$@" /bin/sh -c "$job" </dev/null
}
as_cron "${variables[@]}"
[ -e data/file.vault ]

# Without the key the job fails while the keyring is locked, and works while it is unlocked.
echo contents >data/second
status=0
as_cron "${variables[0]}" || status=$?
[ $status = 78 ]
[ ! -e data/second.vault ]
vaultfile key unlock --for 1m
as_cron "${variables[0]}"
vaultfile key lock
[ -e data/second.vault ]
