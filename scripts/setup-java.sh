#!/bin/sh
# Makes sure that there are a JDK, 17 or newer, and Maven: the tests in integration/redisson run Redisson
# itself. Without them those tests are skipped, and fail where CI is set.
set -eu

install=$(dirname "$0")/install.sh

# works asks the compiler: a program called java may be only a runtime.
works() {
	command -v java >/dev/null && command -v mvn >/dev/null || return 1
	version=$(javac -version 2>&1) || return 1
	version=${version#javac }
	[ "${version%%[!0-9]*}" -ge 17 ] 2>/dev/null
}

# On some distributions the default is older than 17; others no longer have 17.
works || { "$install" jdk || true; works; } || { "$install" jdk17 || true; works; } || {
	echo "setup-java: the tests against Redisson need a JDK, 17 or newer, and Maven (java, javac, mvn on PATH)." >&2
	exit 1
}
echo "setup-java: $(javac -version 2>&1), $(mvn -v 2>/dev/null | sed -n 's/[^A]*\(Apache Maven [0-9.]*\).*/\1/p' | head -n 1)"
