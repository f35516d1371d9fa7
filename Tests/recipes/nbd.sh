# An image with bytes that are not all the same, and a key that nobody types.
mkdir images
head -c 3145728 /dev/urandom >images/disk.img
cp images/disk.img plain.img
vaultfile key generate -q -o key.txt
vaultfile encrypt -q --key-file key.txt --remove-source images/disk.img

# Over a mount, where this machine can mount.
if [ -w /dev/fuse ] && command -v fusermount3 >/dev/null; then
    mkdir view
    vaultfile mount -q --key-file key.txt images view &
    for try in $(seq 1000); do
        [ -e view/disk.img ] && break
        sleep 0.01
    done
    . "$RECIPE/1" | tee info
    grep -q 'export-size: 3145728' info
    grep -q 'is_read_only: true' info
    nbdcopy 'nbd+unix:///?socket=disk.sock' mounted.img
    cmp plain.img mounted.img
    kill "$(cat disk.pid)"
    while [ -e disk.pid ] && kill -0 "$(cat disk.pid)" 2>/dev/null; do sleep 0.01; done
    fusermount3 -u view
    wait
fi

# Over the command.
. "$RECIPE/2"
cmp plain.img copy.img

# Damage is an error, and not other bytes.
printf X | dd of=images/disk.img.vault bs=1 seek=2000000 conv=notrunc status=none
rm copy.img
status=0
. "$RECIPE/2" || status=$?
[ $status != 0 ]
