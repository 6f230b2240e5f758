#!/bin/sh
# Makes sure that the alerts can be tested: promtool and Prometheus must be installed, and one package has both. This
# script installs it with the system's package manager, 20 MB, and starts nothing.
set -eu

found() { command -v promtool >/dev/null && command -v prometheus >/dev/null; }

found || "$(dirname "$0")/install.sh" prometheus || true
found || {
	echo "setup-prometheus: the alerts are tested with promtool, and it is missing: install Prometheus" \
		"(Debian: apt-get install prometheus), or put promtool and prometheus of its release into the PATH." >&2
	exit 1
}
