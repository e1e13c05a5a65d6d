trap '' HUP INT QUIT TERM PIPE
read -r _ && exit
tries=60
until said=$(timeout -k 5 60 "$@" 2>&1 </dev/null); do
  printf '%s\n' "$said" | tail -n 1 >&2
  tries=$((tries - 1))
  [ $tries -gt 0 ] || exit 1
  sleep 5
done
