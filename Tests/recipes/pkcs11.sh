# A token that is a program.
mkdir tokens
export SOFTHSM2_CONF="$PWD/softhsm2.conf"
echo "directories.tokendir = $PWD/tokens" >"$SOFTHSM2_CONF"
softhsm2-util --init-token --free --label token --pin 1234 --so-pin 1234
. "$RECIPE/1"
vaultfile key lock
export PIN=1234
echo contents >file
setsid --wait vaultfile encrypt file </dev/null
[ -e file.vault ]
