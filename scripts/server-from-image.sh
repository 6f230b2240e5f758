#!/bin/sh
# Extracts the server from a Docker image, so that tests can run, freeze and kill it as a process of their own:
#
#	scripts/server-from-image.sh IMAGE PROGRAM BANNER DIR
#	scripts/server-from-image.sh valkey/valkey:8 valkey-server 'Valkey server v=8.' valkey
#
# Prints the path of a program that runs it (for HOLDFAST_REDIS_SERVER), after checking that its version text begins
# with BANNER. The image's libraries rarely fit the host, so the program runs on the image's own dynamic loader and C
# library.
set -eu

image=$1 program=$2 banner=$3
mkdir -p "$4"
dir=$(cd "$4" && pwd)
root=$dir/root

fail() {
	echo "server-from-image: $*" >&2
	exit 1
}

container=$(docker create "$image")
trap 'docker rm "$container" >/dev/null' EXIT
mkdir -p "$root"
docker export "$container" | tar -x -C "$root" --exclude 'dev/*'

server=$root/usr/local/bin/$program
[ -f "$server" ] || fail "no /usr/local/bin/$program in $image"
loader=$(find "$root" -type f -name 'ld-linux*.so.*' | head -n 1)
[ -n "$loader" ] || fail "no dynamic loader in $image; an image built on Debian has one"

# exec: a signal to the process must reach the server.
cat >"$dir/$program" <<EOF
#!/bin/sh
exec '$loader' --library-path '$(dirname "$loader"):$root/usr/local/lib' '$server' "\$@"
EOF
chmod +x "$dir/$program"

version=$("$dir/$program" --version) || fail "$program from $image does not run"
echo "server-from-image: $image: $version" >&2
case $version in
"$banner"*) ;;
*) fail "wanted $banner, so this is the wrong server" ;;
esac
echo "$dir/$program"
