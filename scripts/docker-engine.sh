#!/bin/sh
# Makes sure that a Docker engine answers and that it has an image of a server, made from the
# machine's own server so that none has to be pulled, and prints what to export for the tests that run
# containers:
#
#	if exports=$(scripts/docker-engine.sh); then eval "$exports"; fi
#
# If no engine answers, it installs docker.io and starts dockerd in the background, if it may: as
# root, with apt-get. If it cannot, it fails with a sentence that says why. The engine keeps running;
# its process id is in /var/run/docker.pid.
set -eu

image=holdfast/redis:local
log=/var/tmp/holdfast-dockerd.log

fail() {
	echo "docker-engine: no engine: $*" >&2
	exit 1
}

answers() {
	docker version >/dev/null 2>&1
}

install_engine() {
	command -v apt-get >/dev/null || return 1
	{
		apt-get -qq update || true
		# The package must not start the service, which fails on a machine without services: in
		# runlevel 1 it does not.
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 \
			install --no-install-recommends docker.io
	} >&2
}

# start tries dockerd with some options. It needs no packet filter: the tests reach a container's port
# through dockerd's own proxy. setsid keeps a killed test from killing the engine.
start() {
	setsid dockerd --iptables=false --ip6tables=false "$@" </dev/null >"$log" 2>&1 &
	daemon=$!
	for _ in $(seq 60); do
		if answers; then
			return 0
		fi
		kill -0 "$daemon" 2>/dev/null || return 1
		sleep 0.5
	done
	kill "$daemon" 2>/dev/null || true
	wait "$daemon" 2>/dev/null || true
	return 1
}

# pack writes a tar of the machine's own server and its libraries.
pack() {
	loaded=$(ldd "$1" | sed -n 's/^.*=> *\(\/[^ ]*\) .*$/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*$/\1/p')
	# These are paths of libraries, which contain no spaces.
	# shellcheck disable=SC2086
	tar -C / -chf - --transform "s|^${1#/}\$|usr/bin/redis-server|" "${1#/}" \
		$(printf '%s\n' $loaded | sed 's|^/||')
}

if ! answers; then
	[ "$(uname -s)" = Linux ] || fail "start Docker by hand; here only Linux is known"
	[ "$(id -u)" -eq 0 ] || fail "none answers, and only root can start one"
	command -v dockerd >/dev/null || install_engine ||
		fail "none is installed, and docker.io could not be"
	answers || start || start --storage-driver=vfs ||
		fail "dockerd does not start: $(grep -v level=info "$log" | tail -n 1)"
fi

echo "export HOLDFAST_DOCKER=required"
# The engine is on this machine, and so are the ports of its containers. In a machine that is a container itself the
# test library looks for them at its gateway.
echo "export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1"
if [ "$(uname -s)" != Linux ] || ! server=$(command -v redis-server || command -v valkey-server); then
	echo "docker-engine: it answers; the official images will be pulled" >&2
	exit 0
fi
server=$(readlink -f "$server")
# As in the official images: any command can be given, and the default one listens on every address.
pack "$server" | docker import -c 'ENV PATH=/usr/bin' -c 'EXPOSE 6379' \
	-c 'CMD ["redis-server", "--bind", "*", "--protected-mode", "no", "--save", ""]' - "$image" >&2 ||
	fail "the image of $server could not be made"
said=$(docker run --rm --network=none "$image" redis-server --version) ||
	fail "it cannot run a container: $(docker run --rm --network=none "$image" redis-server --version 2>&1 | tail -n 1)"
echo "docker-engine: $image: $said" >&2

echo "export HOLDFAST_DOCKER_IMAGES=$image"
