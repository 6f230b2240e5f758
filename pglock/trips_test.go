package pglock_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/pglock"
)

// What a caller waits for is counted by what its client writes: each request is one write, and one round trip.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	var m meter
	of := pool(t, database(t), func(c *pgxpool.Config) { c.ConnConfig.DialFunc = m.dial })
	c := client(t, of, pglock.Options{Lease: time.Hour}) // no renewal comes between
	ctx := within(t)
	_, unlock := take(t, ctx, c.Lock("warm")) // connects, and looks at the table
	require.NoError(t, unlock())
	writes := func(of func()) int64 {
		before := m.writes.Load()
		of()
		return m.writes.Load() - before
	}

	l := c.Lock("order")
	require.EqualValues(t, 2, writes(func() { _, unlock = take(t, ctx, l) }), "its row is made with the second request")
	require.EqualValues(t, 1, writes(func() { require.NoError(t, unlock()) }))
	held := ctx
	require.EqualValues(t, 1, writes(func() { held, unlock = take(t, ctx, l) }), "the row is there")
	require.Zero(t, writes(func() {
		_, leave := take(t, held, l)
		require.NoError(t, leave())
	}), "a nested level")
	require.EqualValues(t, 1, writes(func() { require.NoError(t, unlock()) }))
}
