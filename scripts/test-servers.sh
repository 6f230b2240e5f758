#!/bin/sh
# Runs the tests that depend on the server on each server that scripts/fetch-servers.sh fetches: the oldest supported
# Redis and the newest Valkey, beside the server that `make test` finds. It uses no race detector: races do not depend
# on the server, and it would double the time. Most tests wait, so more of them run at a time than there are
# processors, which halves the time. As with scripts/test.sh, HOLDFAST_EVENTS says where to keep the events,
# and HOLDFAST_RERUNS how often to rerun a failed test.
set -eu
cd "$(dirname "$0")/.."

packages="./lua ./rlock ./rwlock ./fairlock ./semaphore ./latch ./multilock ./redlock ./internal/wake ./internal/links"

if [ -z "${HOLDFAST_EVENTS:-}" ]; then
	HOLDFAST_EVENTS=$(mktemp -d)
	trap 'rm -rf "$HOLDFAST_EVENTS"' EXIT
	trap 'exit 1' HUP INT TERM
fi
servers=$(scripts/fetch-servers.sh)
failed=""
while read -r name path; do
	echo "test-servers: $name"
	HOLDFAST_REDIS_SERVER=$path go run gotest.tools/gotestsum@v1.13.0 --format standard-quiet --format-hide-empty-pkg \
		--jsonfile "$HOLDFAST_EVENTS/slow-$name.json" \
		--rerun-fails="${HOLDFAST_RERUNS:-1}" --rerun-fails-max-failures=10 --packages "${*:-$packages}" \
		-- -p 4 -parallel 6 -shuffle=on -timeout 15m </dev/null || failed="$failed $name"
done <<END
$servers
END

if [ -n "$failed" ]; then
	echo "test-servers: failed on:$failed" >&2
	exit 1
fi
