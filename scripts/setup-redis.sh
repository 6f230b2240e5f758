#!/bin/sh
# Makes sure that the tests can start a server, and says which one:
#
#  1. HOLDFAST_REDIS_SERVER, if it is set: a redis-server or valkey-server program
#  2. redis-server or valkey-server on PATH
#  3. redis-server, installed by the system's package manager
#
# It starts nothing itself.
set -eu

fail() {
	echo "setup-redis: $*" >&2
	exit 1
}

# use ends the script: this program is the server.
use() {
	version=$("$1" --version) || fail "$1 --version failed; is it a Redis or Valkey server?"
	echo "setup-redis: $1: $version"
	exit 0
}

use_from_path() {
	for name in redis-server valkey-server; do
		if path=$(command -v "$name"); then
			use "$path"
		fi
	done
}

if [ -n "${HOLDFAST_REDIS_SERVER:-}" ]; then
	command -v "$HOLDFAST_REDIS_SERVER" >/dev/null ||
		fail "HOLDFAST_REDIS_SERVER is set to $HOLDFAST_REDIS_SERVER, which is no program."
	use "$HOLDFAST_REDIS_SERVER"
fi

use_from_path
"$(dirname "$0")/install.sh" redis || true
use_from_path

fail "the tests need a server: install redis-server or valkey-server (6.2 or newer)," \
	"or point HOLDFAST_REDIS_SERVER at one, as scripts/server-from-image.sh takes it from an image."
