#!/bin/sh
# Tests the modules that stand beside the main one: what they need, no user of a lock should have to.
set -eu
cd "$(dirname "$0")/.."

# What measures takes the machine for itself: `cd bench && go test .` runs it briefly.
(cd bench && go vet ./... && go test -shuffle=on -timeout 5m ./internal/...)
(cd examples/fencing && go vet ./... && go test -shuffle=on -timeout 5m ./...)
