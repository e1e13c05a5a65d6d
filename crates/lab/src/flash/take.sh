file=/tmp/headroom.image
trap 'rm -f "$file"' HUP INT TERM
command -v sysupgrade >/dev/null || { echo "it has no sysupgrade" >&2; exit 1; }
cat >"$file" && [ "$(wc -c <"$file")" -eq $SIZE ] || { rm -f "$file"; echo "/tmp has no room for the image" >&2; exit 1; }
sum=$(sha256sum "$file")
[ "${sum%% *}" = $SUM ] || { rm -f "$file"; echo "the image was damaged on its way" >&2; exit 1; }
said=$(sysupgrade -T "$file" 2>&1 >/dev/null) || { rm -f "$file"; echo "sysupgrade refuses it: $said" >&2; exit 1; }
