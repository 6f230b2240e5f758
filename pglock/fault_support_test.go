package pglock_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/pglock"
)

// Texts by which a proxy knows the requests of a store.
const (
	acquiring = "greatest(l.fence + 1"
	releasing = "SET id = NULL"
	partings  = "SELECT r.nth IS NOT NULL" // of a set
	renewing  = "WITH due"
	readying  = "pg_is_in_recovery"
)

// newRole makes a user of a database, with its attributes, and returns the connection string of that user.
func newRole(t testing.TB, of, attributes string) (name, to string) {
	t.Helper()
	name = fmt.Sprintf("role_%016x", rand.Uint64())
	pgtest.Run(t, of, fmt.Sprintf("CREATE ROLE %s LOGIN %s", name, attributes))
	return name, as(t, of, url.User(name))
}

// as is a connection string with another user.
func as(t testing.TB, of string, user *url.Userinfo) string {
	t.Helper()
	to, err := url.Parse(of)
	require.NoError(t, err)
	to.User = user
	return to.String()
}

// row is what the table says of a lock: its id, whether somebody has it, and whether somebody listens.
func row(t testing.TB, of, name string) string {
	t.Helper()
	return pgtest.Run(t, of, "SELECT id IS NOT NULL, until > clock_timestamp(), wanted > clock_timestamp() "+
		"FROM holdfast_lock WHERE name = '"+name+"'")
}

// isFree waits until nobody has a lock.
func isFree(t testing.TB, of, name string) {
	t.Helper()
	eventually(t, func() bool {
		return pgtest.Run(t, of, "SELECT count(*) FROM holdfast_lock WHERE until > clock_timestamp() AND name = '"+
			name+"'") == "0"
	}, "the lock is free")
}

// psql runs statements in a database.
func psql(t testing.TB, of, statements string) string {
	t.Helper()
	return pgtest.Run(t, of, statements)
}

func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	pgtest.Eventually(t, condition, what)
}

// proxied are a database, and a client that reaches it through a proxy.
func proxied(t testing.TB, opts pglock.Options, adapt ...func(*pgxpool.Config)) (
	*pgproxy.Proxy, string, *pglock.Client,
) {
	t.Helper()
	url := database(t)
	proxy := pgproxy.Start(t, pgtest.Shared(t).Addr())
	return proxy, url, client(t, pool(t, proxy.To(url), adapt...), opts)
}

// warm has a client make connections, learn the server's clock, and make the rows of locks.
func warm(t testing.TB, c *pglock.Client, names ...string) {
	t.Helper()
	for _, name := range append(names, "warm") {
		taken(t, c.Lock(name))
	}
}

// secret is a password that nobody may see.
const secret = "open-sesame-4711"
