# `make examples` builds the server of the example.
head -c 100000 /dev/urandom >scan.pdf
. "$RECIPE/1"
. "$RECIPE/2"
server=$!
trap 'kill $server' EXIT
for try in $(seq 1000); do
    curl -s -o nothing http://127.0.0.1:8080/ && break
    sleep 0.01
done

. "$RECIPE/3"
dd if=scan.pdf bs=100 skip=1 count=1 status=none | cmp - part
. "$RECIPE/4" >shown
grep -qx scan.pdf shown
grep -q '1 item intact' shown
. "$RECIPE/5"

# After the erasure neither the server nor the command has the account, even if its store comes back.
. "$RECIPE/6"
tar -C up -xf stores.tar
[ "$(curl -s -o nothing -w '%{http_code}' http://127.0.0.1:8080/anna/scan.pdf)" = 404 ]
status=0
vaultfile store get -S up --device-key file:up.key --account anna scan.pdf || status=$?
[ $status = 66 ]

# Both from before the erasure open it: the page says so.
rm -r up/shards up/stores
tar -C up -xf shards.tar
tar -C up -xf stores.tar
vaultfile store get -S up --device-key file:up.key --account anna scan.pdf | cmp - scan.pdf
