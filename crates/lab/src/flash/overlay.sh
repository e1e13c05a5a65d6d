# Lists what a board's overlay has: what a file there does to the image's, and its name.
cd /overlay/$OVERLAY/upper 2>/dev/null || exit 0
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
