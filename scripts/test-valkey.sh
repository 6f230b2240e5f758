#!/bin/sh
# Runs what depends on the server a second time, on Valkey, where both servers are installed and none
# was chosen: the tests alone would take Redis.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${HOLDFAST_REDIS_SERVER:-}${HOLDFAST_REDIS_IMAGE:-}" ] ||
	! command -v redis-server >/dev/null || ! valkey=$(command -v valkey-server); then
	exit 0
fi
echo "test-valkey: $("$valkey" --version)"
HOLDFAST_REDIS_SERVER=$valkey go test -race -shuffle=on -timeout 15m \
	./rlock ./lua ./internal/wake ./internal/links ./integration ./integration/redisson
