# A password store with a GPG key that needs no passphrase here.
export GNUPGHOME="$HOME/gpg"
mkdir -m 700 "$GNUPGHOME"
gpg --quiet --batch --passphrase '' --quick-generate-key me@example.com default default never
pass init me@example.com
. "$RECIPE/1"
echo contents >file
setsid --wait vaultfile encrypt file </dev/null
[ -e file.vault ]
gpgconf --kill all
