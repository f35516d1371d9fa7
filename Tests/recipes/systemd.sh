# The credential as systemd makes and reads it, and the unit as systemd starts it: with the credential in a folder, an
# environment of its own, and no terminal.
here=$PWD
mkdir -p etc
for block in 1 2; do sed -i "s|/etc/credstore.encrypted|$here/etc/credstore.encrypted|g" "$RECIPE/$block"; done
systemd-creds setup >/dev/null
. "$RECIPE/1"

unit=encrypt-data.service
sed -e "s|/root/|$HOME/|" -e "s|/srv/data|$here/data|" "$RECIPE/2" >$unit
systemd-analyze verify "$here/$unit"
value() { sed -n "s/^$1=//p" $unit; }
export CREDENTIALS_DIRECTORY="$here/credentials"
mkdir -m 700 data "$CREDENTIALS_DIRECTORY"
echo contents >data/file
credential=$(value LoadCredentialEncrypted)
systemd-creds decrypt --name="${credential%%:*}" "${credential#*:}" "$CREDENTIALS_DIRECTORY/${credential%%:*}"
mapfile -t environment < <(value Environment | sed "s|%d|$CREDENTIALS_DIRECTORY|")
read -ra command < <(value ExecStart)
setsid --wait env -i "${environment[@]}" "${command[@]}" </dev/null
[ -e data/file.vault ]
