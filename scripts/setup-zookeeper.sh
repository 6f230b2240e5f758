#!/bin/sh
# Makes sure that the tests and the benchmark can start a ZooKeeper, and prints the folder of its jars:
#
#	scripts/setup-zookeeper.sh [VERSION]
#
#  1. HOLDFAST_ZOOKEEPER_JARS, if it is set and no version is wanted: a folder such as lib of an official archive
#  2. a folder in the user's cache, to which Maven copies them, by scripts/zookeeper/pom.xml, which says which version, or
#     in the version that is wanted. What was fetched before is not fetched again
#
# What is missing of Java or Maven, setup-java.sh installs, if it can. It starts nothing itself. Package zktest runs it.
set -eu
cd "$(dirname "$0")"

fail() {
	echo "setup-zookeeper: $*" >&2
	exit 1
}

# whole reports whether a folder has the jar of the server, in the version that it names if it names one, and what the
# server needs beside it that its own list of dependencies leaves out.
whole() {
	for jar in "$1"/zookeeper-${2:-[0-9]}*.jar "$1"/metrics-core-*.jar "$1"/snappy-java-*.jar; do
		[ -e "$jar" ] || return 1
	done
}

command -v java >/dev/null || ./setup-java.sh >&2 ||
	fail "ZooKeeper needs a Java runtime, 11 or newer (java on PATH), and none can be installed."

if [ $# -eq 0 ] && [ -n "${HOLDFAST_ZOOKEEPER_JARS:-}" ]; then
	whole "$HOLDFAST_ZOOKEEPER_JARS" ||
		fail "HOLDFAST_ZOOKEEPER_JARS is set to $HOLDFAST_ZOOKEEPER_JARS, which lacks the jar of" \
			"zookeeper, metrics-core or snappy-java."
	echo "$HOLDFAST_ZOOKEEPER_JARS"
	exit
fi

version=${1:-$(sed -n 's#.*<zookeeper.version>\(.*\)</zookeeper.version>.*#\1#p' zookeeper/pom.xml)}
cache=${XDG_CACHE_HOME:-${HOME:-$(cd ~ && pwd)}/.cache}/holdfast/servers
folder=$cache/zookeeper-$version
if whole "$folder" "$version"; then
	echo "$folder"
	exit
fi

command -v mvn >/dev/null || ./setup-java.sh >&2 || fail "ZooKeeper $version is fetched by Maven (mvn on PATH)," \
	"which cannot be installed. HOLDFAST_ZOOKEEPER_JARS may name a folder of jars, such as lib of an official archive."
echo "setup-zookeeper: fetching ZooKeeper $version, once" >&2
mkdir -p "$cache" || fail "$cache cannot be made: set XDG_CACHE_HOME to a folder that can."
fresh=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
trap 'exit 1' HUP INT TERM
mvn -B -q -f zookeeper/pom.xml dependency:copy-dependencies -Dzookeeper.version="$version" \
	-DoutputDirectory="$fresh/jars" >"$fresh/log" 2>&1 ||
	fail "ZooKeeper $version cannot be had from Maven: $(sed -n 's/.*\[ERROR\] *//p' "$fresh/log" | head -n 1)"
# A move is atomic: nobody sees half a folder. Another run of this script may have been here first, with the same.
[ -e "$folder" ] || mv "$fresh/jars" "$folder"
whole "$folder" "$version" || fail "$folder is not whole: remove it."
echo "$folder"
