#!/bin/sh
# Makes sure that the tests can run programs in Python that lock by kazoo, and prints the path of the Python that has it:
# one in the user's cache, in an environment of its own, which pip fills once.
set -eu
cd "$(dirname "$0")"

version=2.11.0

fail() {
	echo "setup-kazoo: $*" >&2
	exit 1
}

cache=${XDG_CACHE_HOME:-${HOME:-$(cd ~ && pwd)}/.cache}/holdfast/kazoo-$version
python=$cache/bin/python
has() { "$python" -c 'import kazoo.client' 2>/dev/null; }
if has; then
	echo "$python"
	exit
fi

command -v python3 >/dev/null || ./install.sh pip || fail "kazoo needs Python 3 (python3 on PATH), which cannot be installed."
echo "setup-kazoo: fetching kazoo $version, once" >&2
python3 -m venv --clear "$cache" >&2 || fail "python3 -m venv makes no environment in $cache: see its own words above."
"$python" -m pip install -q --disable-pip-version-check "kazoo==$version" >&2 ||
	fail "kazoo $version cannot be had from PyPI: see pip's own words above."
has || fail "kazoo $version was installed in $cache, but cannot be imported."
echo "$python"
