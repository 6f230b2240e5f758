#!/bin/sh
# Runs what takes hours, for a nightly workflow: the longest histories, on every kind of site, and the tests of make
# test over and over, without repeating failed ones. A failure does not stop the rest; the failures are listed at the
# end.
set -eu
cd "$(dirname "$0")/.."

failed=""

check() {
	name=$1
	shift
	echo "nightly: $name"
	"$@" || failed="$failed, $name"
}

history() {
	go run ./integration/history/cmd/history "$@"
}

check "every mutant" env HOLDFAST_MUTANTS=all go test -count=1 -timeout 1h ./integration/mutants
check "a search of the local queue" go test ./internal/localqueue -run TestLongSearch -search.waiters 5
check "a long history" history -acquisitions 100000 -faults 500 -limit 40m
check "a long history of losses" history -acquisitions 2000 -faults 300 -lease 1200ms -forgets -limit 30m
check "a long history on a cluster" history -acquisitions 20000 -faults 200 -site cluster -limit 30m
check "a long history behind Sentinels" history -acquisitions 20000 -faults 200 -site sentinel -limit 30m
check "a long history on PostgreSQL" history -acquisitions 50000 -faults 400 -site postgres -limit 40m
check "a long history of PostgreSQL's losses" history -acquisitions 1000 -faults 150 -lease 1200ms -forgets \
	-site postgres -limit 30m
check "a long history past deposed primaries" history -acquisitions 2000 -faults 200 -lease 2s -linger \
	-site postgres-deposed -limit 40m
if grep -q '^failover:' Makefile; then
	check "the whole matrix of failovers" make failover
fi
servers=$(scripts/fetch-servers.sh) || failed="$failed, scripts/fetch-servers.sh"
while read -r name path; do
	check "the slow tests on $name" env HOLDFAST_REDIS_SERVER="$path" scripts/test.sh slow </dev/null
done <<END
$servers
END
check "the suites on every server, version and platform" go run ./scripts/servers
for turn in $(seq "${HOLDFAST_TURNS:-5}"); do
	check "the fast tests, turn $turn" env HOLDFAST_RERUNS=0 scripts/test.sh fast
done

if [ -n "$failed" ]; then
	echo "nightly: failed:${failed#,}" >&2
	exit 1
fi
echo "nightly: everything passed"
