#!/bin/sh
# Tidies the go.mod and go.sum of every module of the workspace, and its go.work.sum; with -diff it only prints what it
# would change, and fails if there is something:
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

# What go.work.sum has depends on the commands that were run before, and none of them tidies it. So it is made anew, by
# the two that ask for most: for all modules, and for what all packages and their tests need. Then no other one writes it.
sed -e "s#^\([[:space:]]\)\.#\1$PWD#" -e "s#=> \.#=> $PWD#" go.work >"$scratch/go.work"
export GOWORK="$scratch/go.work"
go list -m all >/dev/null
go list -deps -test work >/dev/null
if [ "${1:-}" != -diff ]; then
	cp "$GOWORK.sum" go.work.sum
elif ! diff -u go.work.sum "$GOWORK.sum"; then
	untidy="$untidy go.work.sum"
fi

if [ -n "$untidy" ]; then
	echo "tidy: scripts/tidy.sh would change$untidy" >&2
	exit 1
fi
