# A TPM that is a program.
mkdir tpm
swtpm socket --tpm2 --tpmstate dir="$PWD/tpm" --server type=unixio,path="$PWD/tpm/socket" \
    --ctrl type=unixio,path="$PWD/tpm/socket.ctrl" --flags startup-clear --daemon --pid file="$PWD/tpm/pid"
trap 'kill "$(cat ~/tpm/pid)"' EXIT
export TPM2TOOLS_TCTI="swtpm:path=$PWD/tpm/socket"
# /dev/tpmrm0 makes room for objects between commands; the program does not.
for tool in tpm2_create tpm2_load tpm2_evictcontrol; do
    eval "$tool() { command tpm2_flushcontext --transient-object; command $tool \"\$@\"; }"
done
. "$RECIPE/1"
cd
echo contents >file
setsid --wait vaultfile encrypt file </dev/null
[ -e file.vault ]
