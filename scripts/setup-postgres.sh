#!/bin/sh
# Makes sure that the tests can start a PostgreSQL and a pgbouncer, and says which ones:
#
#  1. the programs in the folder HOLDFAST_POSTGRES_BIN, if it is set: initdb, postgres, psql, pg_isready,
#     pg_ctl and pg_basebackup (clients that it lacks are taken from PATH)
#  2. those beside the postgres on PATH, or those of Debian's packages
#  3. postgresql and pgbouncer, installed by the system's package manager
#
# It starts nothing itself. Package pgtest looks in the same places.
set -eu

fail() {
	echo "setup-postgres: $*" >&2
	exit 1
}

server_path() {
	if [ -n "${HOLDFAST_POSTGRES_BIN:-}" ]; then
		echo "$HOLDFAST_POSTGRES_BIN/postgres"
		return
	fi
	command -v postgres && return
	ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -t / -k 5 -n | tail -n 1
}

bouncer_path() {
	command -v pgbouncer && return
	command -v /usr/sbin/pgbouncer || true
}

if [ -n "${HOLDFAST_POSTGRES_BIN:-}" ] && [ ! -x "$(server_path)" ]; then
	fail "HOLDFAST_POSTGRES_BIN is set to $HOLDFAST_POSTGRES_BIN, where there is no postgres."
fi
[ -n "$(server_path)" ] || "$(dirname "$0")/install.sh" postgresql || true
[ -n "$(bouncer_path)" ] || "$(dirname "$0")/install.sh" pgbouncer || true

path=$(server_path)
[ -n "$path" ] || fail "the tests need PostgreSQL: install it (13 or newer)," \
	"or point HOLDFAST_POSTGRES_BIN at the folder of its programs."
version=$("$path" --version) || fail "$path --version failed; is it a PostgreSQL?"
echo "setup-postgres: $path: $version"

path=$(bouncer_path)
[ -n "$path" ] || fail "the tests need pgbouncer: install it."
version=$("$path" --version) || fail "$path --version failed; is it a pgbouncer?"
echo "setup-postgres: $path: $(echo "$version" | head -n 1)"
