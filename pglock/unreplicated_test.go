package pglock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A commit that waits for a synchronous standby is visible at the primary alone if its connection is ended meanwhile. A
// client that asks again finds that it has the lock, and must not rely on it before the standby has it, too: the
// standby may be promoted without.
func TestAHoldThatTheStandbyLacksIsNotReliedOn(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t, "wal_retrieve_retry_interval=100ms")
	migrate(t, primary.URL())
	standby := primary.Standby(t, true)
	c := client(t, pool(t, primary.URL()), pglock.Options{Lease: time.Minute})
	held, _ := take(t, within(t), c.Lock("exported"))
	token, err := c.Lock("exported").Export(held)
	require.NoError(t, err)
	set := multilock.New([]*lock.Lock{c.Lock("one"), c.Lock("other")})
	for _, try := range []string{"order", "one", "other"} { // their rows are there, and the client knows the clock
		_, unlock := take(t, within(t), c.Lock(try))
		require.NoError(t, unlock())
	}
	standby.Run(t, "ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()")
	pgtest.Eventually(t, func() bool {
		return primary.Run(t, "SELECT count(*) FROM pg_stat_replication") == "0"
	}, "the standby receives nothing more")

	for name, take := range map[string]func(context.Context) error{
		"Lock": func(ctx context.Context) error {
			_, _, err := c.Lock("order").Lock(ctx)
			return err
		},
		"Import": func(ctx context.Context) error {
			_, _, err := c.Lock("exported").Import(ctx, token)
			return err
		},
		"a set": func(ctx context.Context) error {
			_, _, err := set.Lock(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { relyOnNothing(t, primary, take) })
	}
}

// relyOnNothing fails if a call returns that takes something which the standby lacks.
func relyOnNothing(t *testing.T, primary *pgtest.Server, take func(context.Context) error) {
	ctx, cancel := context.WithCancel(within(t))
	returned := make(chan error, 1)
	go func() { returned <- take(ctx) }()
	for range 3 { // each time the client's connection ends, and it asks again
		pgtest.Eventually(t, func() bool {
			select {
			case err := <-returned:
				t.Fatalf("it returned %v, and the standby lacks the hold", err)
			default:
			}
			return primary.Run(t, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "+
				"WHERE wait_event = 'SyncRep'") != "0"
		}, "the commit waits for the standby")
	}
	cancel()
	require.ErrorIs(t, await(t, returned, "the call returns"), context.Canceled)
}
