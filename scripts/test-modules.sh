#!/bin/sh
# Tests the modules that stand beside the main one: what they need, no user of a lock should have to.
set -eu
cd "$(dirname "$0")/.."

# The benchmarks run briefly, every contender in every situation: one that nobody runs rots. No time is
# asserted, and one package at a time is enough load for what counts round trips.
(cd bench && go vet ./... && go test -p 1 -shuffle=on -timeout 5m ./...)
(cd examples/fencing && go vet ./... && go test -shuffle=on -timeout 5m ./...)
