#!/bin/sh
# Runs every check and fails at the end if one of them did, so that one run shows everything.
set -eu
cd "$(dirname "$0")/.."

# Release 2026.2.2. It must know the Go that runs it: a new Go may need a new one here.
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Reads pages and Go comments, by .vale.ini. It needs cgo, for the grammars with which it finds comments.
vale=github.com/vale-cli/vale/v3/cmd/vale@v3.21.0

failed=""
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# Where nothing is built yet, tidy waits for downloads and vale for a C compiler that uses one processor, so both work
# while vet and staticcheck compile.
scripts/tidy.sh -diff >"$scratch/tidy.log" 2>&1 &
tidying=$!
GOBIN=$scratch CGO_ENABLED=1 go install -ldflags=-w "$vale" >"$scratch/vale.log" 2>&1 &
installing=$!

check() {
	name=$1
	shift
	echo "lint: $name"
	"$@" || failed="$failed $name"
}

formatted() {
	files=$(gofmt -l .) || return 1
	[ -z "$files" ] && return
	echo "not gofmt-ed (make fmt mends it):" >&2
	echo "$files" >&2
	return 1
}

# ended NAME PID waits for what works meanwhile, and prints what it said.
ended() {
	code=0
	wait "$2" || code=$?
	cat "$scratch/$1.log"
	return $code
}

checked_by_vale() {
	ended vale $installing || return
	"$scratch/vale" --no-global --output=line .
}

check gofmt formatted
# checked_by_holdfastvet looks for misuses of our own locks in all modules, by our own analyzer.
checked_by_holdfastvet() {
	go build -o "$scratch/holdfastvet" ./holdfastvet/cmd/holdfastvet || return 1
	go vet -vettool="$scratch/holdfastvet" work
}

check vet go vet work # the packages of all modules of the workspace
check holdfastvet checked_by_holdfastvet
check staticcheck go run "$staticcheck" work
check tidy ended tidy $tidying
check api go run ./scripts/api
if command -v golangci-lint >/dev/null; then
	check golangci-lint golangci-lint run ./...
fi
check budgets go run ./scripts/budgets
check words go run ./scripts/words
check vale checked_by_vale

if [ -n "$failed" ]; then
	echo "lint: failed:$failed" >&2
	exit 1
fi
