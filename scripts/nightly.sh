#!/bin/sh
# Runs what takes hours, for a nightly workflow: the longest histories, on every kind of site, and the tests of make
# test over and over, without repeating failed ones. A failure does not stop the rest; the failures are listed at the
# end. What the histories, the fuzz tests and the servers came to is written into the pages in docs, which the workflow
# keeps.
set -eu
cd "$(dirname "$0")/.."

failed=""

check() {
	name=$1
	shift
	echo "nightly: $name"
	"$@" || failed="$failed, $name"
}

check "every mutant" env HOLDFAST_MUTANTS=all go test -count=1 -timeout 1h ./integration/mutants
check "a search of the local queue" go test ./internal/localqueue -run TestLongSearch -search.waiters 5
check "a long history on every kind of site" go run ./integration/history/cmd/report \
	-acquisitions "${HOLDFAST_ACQUISITIONS:-200000}" -faults "${HOLDFAST_FAULTS:-1500}" -page docs/histories.md
check "what is fuzzed" go run ./scripts/fuzz -inputs 1000000 -page docs/evidence.md
check "the whole matrix of failovers" make failover
servers=$(scripts/fetch-servers.sh) || failed="$failed, scripts/fetch-servers.sh"
while read -r name path; do
	check "the slow tests on $name" env HOLDFAST_REDIS_SERVER="$path" scripts/test.sh slow </dev/null
done <<END
$servers
END
check "the tests on a 32-bit system" env GOARCH=386 CGO_ENABLED=0 go test -count=1 -vet=off -timeout 20m ./...
check "the suites on every server, version and platform" go run ./scripts/servers -page docs/servers.md
for turn in $(seq "${HOLDFAST_TURNS:-5}"); do
	check "the fast tests, turn $turn" env HOLDFAST_RERUNS=0 scripts/test.sh fast
done

if [ -n "$failed" ]; then
	echo "nightly: failed:${failed#,}" >&2
	exit 1
fi
echo "nightly: everything passed"
