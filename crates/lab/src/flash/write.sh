# Writes the slot that does not run: its kernel, its root, then, once both are read back from the disk and are what they
# should be, the state by which it starts next. Reads all three, in pieces of 64 KiB, from its input; what is there already
# has no pieces. $NAMES are set before it.
lock=/run/headroom-flash
if ! mkdir "$lock" 2>/dev/null; then
  # One that was killed over it is no longer there.
  kill -0 "$(cat "$lock/pid" 2>/dev/null)" 2>/dev/null && exit $BUSY
fi
echo $$ >"$lock/pid"
trap 'rm -rf "$lock"' EXIT
trap 'exit 1' HUP INT TERM
copies() {
  for at in 0 8; do
    dd if=/dev/$STATE bs=512 count=1 skip=$at iflag=direct 2>/dev/null | od -An -v -tx1 | tr -d ' \n'
  done
}
[ "$(copies)" = $COPIES ] || exit $BUSY
write() {
  [ "$2" -gt 0 ] || return 0
  said=$(dd of="/dev/$1" bs=65536 count="$2" iflag=fullblock conv=fsync 2>&1) || { echo "${said##*: }" >&2; exit 1; }
}
verify() {
  sum=$(dd if="/dev/$1" bs=1048576 iflag=direct 2>/dev/null | head -c "$2" | sha256sum)
  [ "${sum%% *}" = "$3" ] || { echo "what is read from /dev/$1 is not what was sent" >&2; exit 1; }
}
write $KERNEL $KERNEL_PIECES
write $ROOT $ROOT_PIECES
dd bs=512 count=1 iflag=fullblock of="$lock/state" 2>/dev/null
verify $KERNEL $KERNEL_SIZE $KERNEL_SUM
verify $ROOT $ROOT_SIZE $ROOT_SUM
[ "$(wc -c <"$lock/state")" -eq 512 ] || { echo "the link broke" >&2; exit 1; }
# One sector, so that it is written whole or not at all.
dd if="$lock/state" of=/dev/$STATE bs=512 count=1 seek=$SEEK oflag=direct conv=fsync 2>/dev/null || exit 1
echo switched
