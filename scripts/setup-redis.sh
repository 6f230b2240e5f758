#!/bin/sh
# Makes sure that the tests can start a server, and says which one:
#
#  1. HOLDFAST_REDIS_SERVER, if it is set: a redis-server or valkey-server program
#  2. HOLDFAST_REDIS_IMAGE, if it is set: an image that the tests start with Docker
#  3. redis-server or valkey-server on PATH
#  4. redis-server, installed by the system's package manager
#  5. Docker: the tests start a container from their default image
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

docker_answers() {
	docker info >/dev/null 2>&1
}

if [ -n "${HOLDFAST_REDIS_SERVER:-}" ]; then
	command -v "$HOLDFAST_REDIS_SERVER" >/dev/null ||
		fail "HOLDFAST_REDIS_SERVER is set to $HOLDFAST_REDIS_SERVER, which is no program."
	use "$HOLDFAST_REDIS_SERVER"
fi

if [ -n "${HOLDFAST_REDIS_IMAGE:-}" ]; then
	docker_answers || fail "HOLDFAST_REDIS_IMAGE is set, but Docker does not answer: start it."
	echo "setup-redis: $HOLDFAST_REDIS_IMAGE in Docker"
	exit 0
fi

use_from_path
# Failing to install is not fatal yet.
"$(dirname "$0")/install.sh" redis || true
use_from_path

if docker_answers; then
	echo "setup-redis: Docker"
	exit 0
fi

fail "the tests need a server: install redis-server or valkey-server (6.2 or newer)," \
	"or point HOLDFAST_REDIS_SERVER at one, or start Docker."
