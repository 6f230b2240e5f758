#!/bin/sh
# Runs one half of the tests under the race detector, in random order, and ends with their count:
#
#	scripts/test.sh fast|slow
#
# scripts/suite says which tests are in which part of a half. A failed test is run once more, alone, and both runs are
# printed: a test that fails again has failed, and the count names those that did not. HOLDFAST_RERUNS=0 turns that off.
# HOLDFAST_EVENTS names a folder for the events of go test -json, for a count over several runs.
set -eu
cd "$(dirname "$0")/.."

half=$1
started=$(date +%s)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
events=$(cd "${HOLDFAST_EVENTS:-$scratch}" && pwd)
# Under the race detector, collecting garbage takes up to a quarter of the time, and these programs keep little memory.
export GOGC="${GOGC:-400}"
go build -buildvcs=false -o "$scratch/suite" ./scripts/suite
failed=0

# What the race detector needs is built for it alone. Without debug information that is a fifth smaller on the disk,
# and built sooner.
race="-race -gcflags=all=-dwarf=false"

# tests PART FLAGS... runs a part. Vet runs with make lint. These programs are not debugged, and link faster without
# debug information.
tests() {
	part=$1
	shift
	go run gotest.tools/gotestsum@v1.13.0 --format standard-quiet --format-hide-empty-pkg \
		--jsonfile "$events/$half-$part.json" --rerun-fails="${HOLDFAST_RERUNS:-1}" --rerun-fails-max-failures=10 \
		--packages "$("$scratch/suite" packages "$part")" -- -shuffle=on -vet=off -ldflags=-w "$@" || failed=1
}

# aside NICENESS PART FLAGS... runs a part beside another one, with less right to the processors, until joined.
aside() {
	nice=$1
	shift
	(
		renice -n "$nice" "$(exec sh -c 'echo $PPID')" >/dev/null 2>&1 || true
		tests "$@"
		exit $failed
	) >"$scratch/aside.log" 2>&1 &
	aside=$!
}

# joined waits for what runs aside, and prints what that said.
joined() {
	wait $aside || failed=1
	cat "$scratch/aside.log"
}

# Long searches do nothing but compute, so they run while the tests of make test-all wait.
computing='^TestLongSearch'

case $half in
# Most tests wait: for a lease, a message, a failover. So more packages run at a time than there are processors (packages
# rather than more tests of each: many have tests that run alone), and the modules beside the locks meanwhile. Those
# have leases and limits as well, so they yield less than a search does.
fast)
	aside 5 beside -p 1 -timeout 5m
	tests fast $race -p 4 -parallel 3 -timeout 15m -skip "$computing"
	joined
	;;
slow)
	aside 19 search -p 1 -run "$computing" -timeout 30m
	# These wait most of their time: for round trips that are made longer, leases, and failovers.
	tests bench -p 3 -timeout 15m
	tests slow $race -p 3 -timeout 25m
	# What builds programs keeps both processors and the disk busy, so no histories run beside it.
	tests building $race -p 2 -timeout 25m
	joined
	# If a server was chosen, use that one.
	if [ -z "${HOLDFAST_REDIS_SERVER:-}" ]; then
		HOLDFAST_EVENTS=$events scripts/test-servers.sh || failed=1
	fi
	;;
esac

echo "$half tests, after $(($(date +%s) - started)) s:"
"$scratch/suite" count "$events/$half"-*.json || failed=1
exit $failed
