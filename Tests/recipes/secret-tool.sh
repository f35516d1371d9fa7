# A session of a desktop: a message bus, and a keyring that the password of the log-in has opened.
export GNOME_KEYRING_TEST_PATH="$HOME"
dbus-run-session -- bash -eu -c '
    printf log-in | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
    . "$RECIPE/1"
    echo contents >file
    setsid --wait vaultfile encrypt file </dev/null
'
[ -e file.vault ]
