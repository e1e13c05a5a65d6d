uname -m && read LENGTH && [ "$LENGTH" -gt 0 ] || exit
try() {
  mkdir -m 700 "$d" && echo '#!/bin/sh' >"$f" && chmod 700 "$f" || exit
  said=$("$f" 2>&1 </dev/null) || { echo ": no programs run there ($said)"; exit 1; }
  said=$(head -c $LENGTH /dev/zero 2>&1 >>"$f") || { echo ": no room for $((LENGTH / 1024 + 1)) KiB ($said)"; exit 1; }
}
trap 'rm -rf "$d"' EXIT HUP INT TERM
found= why=
for at in ${TMPDIR:+"$TMPDIR"} /tmp /dev/shm /run /var/tmp "$HOME"; do
  [ -d "$at" ] || continue
  d=$at/$NAME f=$at/$NAME/headroom-agent
  said=$(try 2>&1) && found=$d && break
  rm -rf "$d"
  why="$why; $at: ${said#*: }"
done
[ "$found" ] || { echo "${why#; }" >&2; exit $NO_FOLDER; }
head -c $LENGTH >"$f" && [ "$(wc -c <"$f")" -eq $LENGTH ] || exit
"$f"
