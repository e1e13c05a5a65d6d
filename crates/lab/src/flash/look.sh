# Says what a board runs from: a word and its value a line. The same tools as BusyBox has.
echo "machine $(uname -m)"
echo "boot $(cat /proc/sys/kernel/random/boot_id)"
for word in $(cat /proc/cmdline); do
  case $word in
  headroom.slot=*) echo "slot ${word#*=}" ;;
  headroom.overlay=*) echo "overlay ${word#*=}" ;;
  esac
done
while read -r device place rest; do
  [ "$place" = /rom ] && echo "rom ${device#/dev/}"
done </proc/mounts
for file in /sys/class/block/*/uevent; do
  folder=${file%/uevent} name=
  while IFS='=' read -r key value; do
    [ "$key" = PARTNAME ] && name=$value
  done <"$file"
  device=${folder##*/}
  case $name in
  state)
    for at in 0 8; do
      echo "copy $(dd if="/dev/$device" bs=512 count=1 skip=$at iflag=direct 2>/dev/null | od -An -v -tx1 | tr -d ' \n')"
    done ;;
  kernel_[ab] | root_[ab])
    echo "head $name $(dd if="/dev/$device" bs=512 count=1 iflag=direct 2>/dev/null | od -An -v -tx1 | tr -d ' \n')" ;;
  *) continue ;;
  esac
  echo "partition $name $device $(($(cat "$folder/size") * 512))"
done
