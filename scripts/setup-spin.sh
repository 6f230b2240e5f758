#!/bin/sh
# Makes sure that the models in spec can be checked: that there is Spin, and the C compiler for the checkers that it
# writes. It installs what is missing with the system's package manager.
set -eu

"$(dirname "$0")/setup-cc.sh"
command -v spin >/dev/null || "$(dirname "$0")/install.sh" spin || true
command -v spin >/dev/null || {
	echo "setup-spin: make test-all and make spec check models with Spin: install spin (Debian: apt-get install spin)." >&2
	exit 1
}
