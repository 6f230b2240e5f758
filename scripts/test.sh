#!/bin/sh
# Runs the tests under the race detector, in random order. A package that failed is run once more, alone: many
# tests work with real leases of a fraction of a second, and a machine that is busy with other packages can
# miss one. What fails alone as well has failed. Both runs are printed.
set -eu
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log" "$log.status"' EXIT
{
	status=0
	go test -race -shuffle=on -timeout 20m "${@:-./...}" 2>&1 || status=$?
	echo "$status" >"$log.status"
} | tee "$log"
[ "$(cat "$log.status")" != 0 ] || exit 0

failed=$(awk '$1 == "FAIL" && NF > 1 { print $2 }' "$log")
[ -n "$failed" ] || exit 1
echo "test: once more, alone:" $failed
# shellcheck disable=SC2086 # a list of packages
go test -race -shuffle=on -timeout 20m -p 1 $failed
