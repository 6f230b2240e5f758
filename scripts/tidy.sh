#!/bin/sh
# Tidies the go.mod and go.sum of every module of the workspace; with -diff it only prints what it would change, and
# fails if there is something:
#
#	scripts/tidy.sh [-diff]
#
# The modules require one another in a version that no proxy has yet, and go mod tidy takes no notice of the workspace.
# So each is tidied with a copy of its go.mod that replaces its siblings by their folders.
set -eu
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

modules=$(go list -m -f '{{.Path}}={{.Dir}}')
untidy=""
for module in $modules; do
	dir=${module#*=}
	copy=$scratch/go.mod
	cp "$dir/go.mod" "$copy"
	cp "$dir/go.sum" "$scratch/go.sum" 2>/dev/null || : >"$scratch/go.sum"
	for sibling in $modules; do
		[ "$sibling" = "$module" ] || go mod edit -replace="$sibling" "$copy"
	done
	(cd "$dir" && GOWORK=off go mod tidy -modfile="$copy")
	for sibling in $modules; do
		go mod edit -dropreplace="${sibling%%=*}" "$copy"
	done
	if [ "${1:-}" != -diff ]; then
		cp "$copy" "$dir/go.mod"
		cp "$scratch/go.sum" "$dir/go.sum"
	elif ! diff -u "$dir/go.mod" "$copy" || ! diff -u "$dir/go.sum" "$scratch/go.sum"; then
		untidy="$untidy ${module%%=*}"
	fi
done

if [ -n "$untidy" ]; then
	echo "tidy: scripts/tidy.sh would change$untidy" >&2
	exit 1
fi
