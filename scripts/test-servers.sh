#!/bin/sh
# Runs the tests that depend on the server on each server that scripts/fetch-servers.sh fetches: the oldest supported
# Redis and the newest Valkey, beside the server that `make test` finds. It uses no race detector: races do not depend
# on the server, and it would double the time. Most tests wait, so more of them run at a time than there are
# processors, and both servers at the same time; what the runs print comes when they end. As with scripts/test.sh,
# HOLDFAST_EVENTS says where to keep the events, and HOLDFAST_RERUNS how often to rerun a failed test.
set -eu
cd "$(dirname "$0")/.."

packages=$(go run ./scripts/suite packages servers)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
events=${HOLDFAST_EVENTS:-$scratch}
servers=$(scripts/fetch-servers.sh)

# on NAME PROGRAM PACKAGES... runs the packages on one server.
on() {
	name=$1 program=$2
	shift 2
	HOLDFAST_REDIS_SERVER=$program go run gotest.tools/gotestsum@v1.13.0 --format standard-quiet \
		--format-hide-empty-pkg --jsonfile "$events/slow-$name.json" \
		--rerun-fails="${HOLDFAST_RERUNS:-1}" --rerun-fails-max-failures=10 --packages "${*:-$packages}" \
		-- -p 2 -parallel 6 -shuffle=on -timeout 15m </dev/null
}

runs=""
while read -r name path; do
	on "$name" "$path" "$@" >"$scratch/$name.log" 2>&1 &
	runs="$runs $name=$!"
done <<END
$servers
END

failed=""
for run in $runs; do
	wait "${run#*=}" || failed="$failed ${run%%=*}"
	echo "test-servers: ${run%%=*}"
	cat "$scratch/${run%%=*}.log"
done
if [ -n "$failed" ]; then
	echo "test-servers: failed on:$failed" >&2
	exit 1
fi
