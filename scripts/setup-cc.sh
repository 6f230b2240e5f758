#!/bin/sh
# Makes sure that there is a C compiler: the race detector is linked through cgo, except on macOS, and so is vale.
set -eu

[ "$(uname -s)" != Darwin ] || exit 0

# works also compiles a header of the C library: cgo needs it too.
works() {
	cc=$(go env CC)
	# CC may carry flags.
	# shellcheck disable=SC2086
	printf '#include <stdlib.h>\nint main(void) { return 0; }\n' |
		${cc:-cc} -x c -fsyntax-only - >/dev/null 2>&1
}

works || { "$(dirname "$0")/install.sh" cc || true; works; } || {
	echo "setup-cc: go test -race and make lint need a C compiler: install gcc (and libc6-dev or its like)." >&2
	exit 1
}
