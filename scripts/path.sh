#!/usr/bin/env bash
# Counts the functions and files of ours through which one warm Lock and unlock of a free lock run.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export GOWORK=off # one module is looked at
module=$(go list -m)
go build -cover -covermode=atomic -coverpkg="$module/..." -o "$dir/path" ./scripts/path
mkdir "$dir/data"
GOCOVERDIR="$dir" "$dir/path" "$dir/data"
go tool covdata func -i "$dir/data" 2>/dev/null |
  awk -v verbose="${1:-}" '
    /scripts\/path|internal\/embedded|^total/ { next }
    $NF + 0 > 0 { split($1, at, ":"); functions++; files[at[1]] = 1; if (verbose) print $1, $2 }
    END { for (f in files) n++; printf "a free lock: %d functions in %d files\n", functions, n }'
