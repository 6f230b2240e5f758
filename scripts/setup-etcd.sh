#!/bin/sh
# Makes sure that there is an etcd, beside which the benchmark measures ours: the one on PATH, or one installed by the
# system's package manager. Where there is none the benchmark leaves out its rows and says so, so this never fails.
set -eu

if ! command -v etcd >/dev/null; then
	"$(dirname "$0")/install.sh" etcd || true
fi
if command -v etcd >/dev/null; then
	echo "setup-etcd: $(etcd --version | head -n 1)"
else
	echo "setup-etcd: there is no etcd, and none could be installed"
fi
