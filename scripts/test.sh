#!/bin/sh
# Runs the tests under the race detector, in random order, and ends with their count. A test that failed is run
# once more, alone: many work with real leases of a fraction of a second, and a machine that is busy with other
# packages can miss one. What fails alone as well has failed. Both runs are printed.
set -eu
cd "$(dirname "$0")/.."

exec go run gotest.tools/gotestsum@v1.13.0 --format standard-quiet --format-hide-empty-pkg \
	--rerun-fails=1 --rerun-fails-max-failures=10 --packages "${*:-./...}" \
	-- -race -shuffle=on -timeout 20m
