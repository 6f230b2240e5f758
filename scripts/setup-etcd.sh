#!/bin/sh
# Makes sure that the tests and the benchmark can start an etcd, and prints the folder of its programs, etcd, etcdctl and
# etcdutl:
#
#	scripts/setup-etcd.sh [VERSION]
#
#  1. HOLDFAST_ETCD_BIN, if it is set and no version is wanted
#  2. a folder in the user's cache, where they are built from the module in scripts/etcd, which says which version, or in
#     the version that is wanted. What was built before is not built again
#
# Distributions have an etcd that package etcdlock refuses. It starts nothing itself. Package etcdtest runs it.
set -eu
cd "$(dirname "$0")/etcd"

fail() {
	echo "setup-etcd: $*" >&2
	exit 1
}

# whole reports whether a folder has all programs.
whole() {
	for name in etcd etcdctl etcdutl; do
		[ -x "$1/$name" ] || return 1
	done
}

if [ $# -eq 0 ] && [ -n "${HOLDFAST_ETCD_BIN:-}" ]; then
	whole "$HOLDFAST_ETCD_BIN" ||
		fail "HOLDFAST_ETCD_BIN is set to $HOLDFAST_ETCD_BIN, which lacks one of etcd, etcdctl and etcdutl."
	echo "$HOLDFAST_ETCD_BIN"
	exit
fi

default=$(sed -n 's#^[[:space:]]*go.etcd.io/etcd/server/v3 v\([^ ]*\).*#\1#p' go.mod)
version=${1:-$default}
cache=${XDG_CACHE_HOME:-${HOME:-$(cd ~ && pwd)}/.cache}/holdfast/servers
folder=$cache/etcd-$version
if whole "$folder"; then
	echo "$folder"
	exit
fi

echo "setup-etcd: building etcd $version, once" >&2
mkdir -p "$cache" || fail "$cache cannot be made: set XDG_CACHE_HOME to a folder that can."
fresh=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
trap 'exit 1' HUP INT TERM
if [ "$version" != "$default" ]; then
	mkdir "$fresh/module"
	cd "$fresh/module"
	export GOWORK=off
	go mod init etcd 2>/dev/null
	go get "go.etcd.io/etcd/server/v3@v$version" "go.etcd.io/etcd/etcdctl/v3@v$version" \
		"go.etcd.io/etcd/etcdutl/v3@v$version" 2>"$fresh/log" ||
		fail "etcd $version cannot be had: $(tail -n 1 "$fresh/log")"
fi
build() {
	# The module is in no workspace: its requirements would change which versions the others are built with.
	GOWORK=off CGO_ENABLED=0 go build -ldflags=-w -o "$fresh/$2" "go.etcd.io/etcd/$1/v3" ||
		fail "etcd $version cannot be built: see go's own words above. HOLDFAST_ETCD_BIN may name a folder that has it."
}
build server etcd
build etcdctl etcdctl
build etcdutl etcdutl
# A move is atomic: nobody sees half a program. Another run of this script may have been here first, with the same.
mkdir -p "$folder"
mv "$fresh/etcd" "$fresh/etcdctl" "$fresh/etcdutl" "$folder/"
echo "$folder"
