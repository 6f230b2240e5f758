#!/bin/sh
# Installs one thing with the system's package manager, if that works non-interactively:
#
#	scripts/install.sh redis|cc|make|pip|jdk|jdk17|etcd|prometheus|chromium|postgresql|pgbouncer|mariadb|strace|spin
#
# Fails if it may not or cannot; the caller reports that to the user.
set -eu

root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# with_apt keeps the package's service off. Nothing here needs it (the tests start their own
# servers, on free ports), and if port 6379 is taken its start would fail the installation.
# Debian's way to prevent it is policy-rc.d.
with_apt() {
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		trap 'root rm -f "$policy"' EXIT
		trap 'exit 1' HUP INT TERM
		printf '#!/bin/sh\nexit 101\n' | root tee "$policy" >/dev/null
		root chmod 755 "$policy"
	fi
	# An update that fails in part (one dead mirror) may still have fetched what is needed.
	root apt-get -qq update || true
	# A machine that has just started often holds the lock for its own upgrades.
	root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120 \
		install --no-install-recommends "$@"
	case $1 in
	redis-server) service=redis-server ;;
	etcd-server) service=etcd ;;
	prometheus) service=prometheus ;;
	postgresql) service=postgresql ;;
	pgbouncer) service=pgbouncer ;;
	mariadb-server) service=mariadb ;;
	*) return 0 ;;
	esac
	if [ -d /run/systemd/system ]; then
		# Not at the next boot either.
		root systemctl disable --now "$service" || true
	fi
}

install() {
	echo "install: $* with $manager"
	case $manager in
	apt-get) with_apt "$@" ;;
	dnf) root dnf install -q -y "$@" ;;
	apk) root apk add -q "$@" ;;
	brew) brew install -q "$@" ;;
	esac
}

# The callers' own output is for people and scripts; a package manager's goes to the log.
exec >&2

manager=""
if root true 2>/dev/null; then
	for name in apt-get dnf apk; do
		if command -v "$name" >/dev/null; then
			manager=$name
			break
		fi
	done
fi
if [ -z "$manager" ]; then
	command -v brew >/dev/null || exit 1
	manager=brew
fi

case $manager-$1 in
apt-get-redis) install redis-server ;;
apt-get-cc) install gcc libc6-dev ;;
dnf-cc) install gcc glibc-devel ;;
apk-cc) install gcc musl-dev ;;
*-redis) install redis || install valkey ;; # newer distributions have Valkey alone
*-make) install make ;;
apt-get-pip | dnf-pip) install python3 python3-pip ;;
apk-pip) install python3 py3-pip ;;
brew-pip) install python ;;
apt-get-etcd) install etcd-server ;;
apt-get-prometheus | apk-prometheus | brew-prometheus) install prometheus ;;
brew-etcd) install etcd ;;
# A browser without a screen, 310 MB with what it needs; the whole one has 100 MB more.
apt-get-chromium) install chromium-headless-shell || install chromium ;;
dnf-chromium) install chromium-headless ;;
apk-chromium) install chromium ;;
apt-get-postgresql | apk-postgresql | brew-postgresql) install postgresql ;;
dnf-postgresql) install postgresql-server ;;
*-pgbouncer) install pgbouncer ;;
*-strace) install strace ;;
*-spin) install spin ;;
apt-get-mariadb | dnf-mariadb) install mariadb-server ;;
*-mariadb) install mariadb ;;
# A JDK, the distribution's default or 17, and Maven.
apt-get-jdk) install default-jdk-headless maven ;;
apt-get-jdk17) install openjdk-17-jdk-headless maven ;;
dnf-jdk) install java-devel maven ;;
dnf-jdk17) install java-17-openjdk-devel maven ;;
apk-jdk17) install openjdk17-jdk maven ;;
*) exit 1 ;;
esac
