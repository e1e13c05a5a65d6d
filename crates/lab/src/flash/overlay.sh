# Lists what the overlay of the root has: what a file there does to the image's in /rom, and its name.
while read -r what place kind options rest; do
  [ "$place $kind" = '/ overlay' ] || continue
  upper=${options##*upperdir=}
  cd "${upper%%,*}" 2>/dev/null || exit 0
  find . ! -type d | head -n $MOST | while read -r file; do
    file=${file#./}
    if [ -c "$file" ]; then
      echo "removes $file"
    elif [ -e "/rom/$file" ] || [ -L "/rom/$file" ]; then
      echo "hides $file"
    else
      echo "adds $file"
    fi
  done
  exit
done </proc/mounts
