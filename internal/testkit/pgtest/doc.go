// Package pgtest runs real PostgreSQL servers for tests, as package redistest runs Redis. It imports no client of
// PostgreSQL: a test brings its own, and what the package asks a server it asks by psql.
//
// A test asks for what it needs and gets it on free loopback ports: one server ([Start], or [Shared] for all tests of a
// binary, each in a database of its own by [Server.Database]), a standby ([Server.Standby]), or a pgbouncer
// ([StartBouncer]). Nothing has to run beforehand and nothing is left behind: servers end with the test that started
// them and, on Linux, with the test binary itself, however it ends.
//
// The programs are those in the folder that HOLDFAST_POSTGRES_BIN names; otherwise those beside the postgres on PATH,
// or the newest that Debian's packages installed. If there are none, scripts/setup-postgres.sh installs them. If it
// cannot, the test fails with a sentence that says what is missing.
//
// A server does not wait for the disk (fsync is off): a [Server.Crash] loses nothing that it wrote all the same,
// because the machine goes on. It lets everybody in who comes from this machine.
package pgtest
