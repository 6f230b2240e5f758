#!/bin/sh
# Makes a release: one version for every module of the workspace.
#
#	scripts/release.sh v0.4.0
#
# It lets every module require its siblings in this version, dates the section Unreleased of CHANGELOG.md, writes down
# the API for later comparisons (scripts/api), commits that, and tags the commit once for each module: v0.4.0,
# holdfastvet/v0.4.0, ... It pushes nothing, and says at the end what to push. It refuses a tree that is not clean, and a
# version that exists.
set -eu
cd "$(dirname "$0")/.."

fail() {
	echo "release: $*" >&2
	exit 1
}

version=${1:-}
printf '%s' "$version" | grep -Eq '^v[01]\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$' ||
	fail "want a version like v0.4.0, got '$version' (v2 would need other module paths)"
[ -z "$(git status --porcelain)" ] || fail "the tree is not clean: commit or stash first"

root=$(pwd -P)
modules=$(go list -m -f '{{.Path}}={{.Dir}}')
tags=""
for module in $modules; do
	dir=${module#*=}
	inside=${dir#"$root"}
	inside=${inside#/}
	tag=${inside:+$inside/}$version
	! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "the tag $tag exists"
	tags="$tags $tag"
done

# Until the proxy has the new version, the workspace finds it in the folders, as it did with the version before.
holdfast=$(go mod edit -json | sed -n 's/.*"Path": "\(.*\)".*/\1/p' | head -n 1)
sed -i.old -E "s#^([[:space:]]*(replace )?$holdfast[^ ]*) v[^ ]+ =>#\1 $version =>#" go.work
rm go.work.old
for module in $modules; do
	for sibling in $modules; do
		path=${sibling%%=*}
		if grep -Eq "^[[:space:]]*(require )?$path v" "${module#*=}/go.mod"; then
			go mod edit -require="$path@$version" "${module#*=}/go.mod"
		fi
	done
done
sed -i.old "s/^## \[Unreleased\]\$/&\\
\\
## [${version#v}] - $(date -u +%F)/" CHANGELOG.md
rm CHANGELOG.md.old

# Every import is still met, and by what go.mod says.
go list -deps work >/dev/null || fail "the modules do not fit together: git checkout . takes everything back"
scripts/tidy.sh -diff || fail "the modules are not tidy: git checkout . takes everything back"

# What this release exports is what the next one is compared with.
go run ./scripts/api -w

git commit -qam "release: $version"
for tag in $tags; do
	git tag -a -m "$tag" "$tag"
done
echo "release: tagged$tags"
echo "release: to publish it, push the branch and all tags at once:"
echo "	git push --atomic origin HEAD$tags"
