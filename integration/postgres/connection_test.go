package postgres_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// secret is a password that nobody may see.
const secret = "open-sesame-4711"

// withPasswords starts a server that asks its users for passwords, except its administrator, and returns how a user
// reaches it with a password.
func withPasswords(t *testing.T) (to func(password string) string) {
	t.Helper()
	server := pgtest.Start(t)
	migrate(t, server.URL())
	server.Run(t, "CREATE ROLE locker LOGIN PASSWORD '"+secret+"'; GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+
		"locker; COPY (VALUES ('local all all trust'), ('host all postgres 127.0.0.1/32 trust'), "+
		"('host all all 127.0.0.1/32 scram-sha-256')) TO '"+server.Run(t, "SHOW hba_file")+"'; SELECT pg_reload_conf()")
	to = func(password string) string {
		return strings.Replace(server.URL(), "postgres@", "locker:"+password+"@", 1)
	}
	eventually(t, func() bool {
		return pgtest.Client(t, within(t), to("none"), "SELECT 1").Run() != nil
	}, "passwords are asked for")
	return to
}

// Wrong credentials are refused at once, and no error or log line has a password in it.
func TestAWrongPassword(t *testing.T) {
	t.Parallel()
	to := withPasswords(t)
	taken(t, client(t, to(secret), pglock.Options{}).Lock("a"))

	var said strings.Builder
	wrong := client(t, to("not-"+secret), pglock.Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	var texts []string
	for range 3 {
		_, _, err := wrong.Lock("a").Lock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.Contains(t, err.Error(), "PostgreSQL denies access")
		require.Contains(t, err.Error(), "28P01")
		require.Contains(t, err.Error(), "locker", "it says who was refused")
		texts = append(texts, err.Error())
	}
	for _, finding := range pglock.Check(within(t), wrong) {
		require.Equal(t, lock.LevelFailure, finding.Level)
		texts = append(texts, finding.Text)
	}
	for _, err := range pglock.List(within(t), wrong, "%") {
		require.ErrorIs(t, err, lock.ErrUnavailable)
		texts = append(texts, err.Error())
	}
	require.NoError(t, wrong.Close())
	require.NotContains(t, strings.Join(append(texts, said.String()), "\n"), "sesame")
}

// On a standby no lock can be taken. When it is promoted, the client that was refused takes one.
func TestAStandbyIsNoPlaceToLock(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	migrate(t, primary.URL())
	standby := primary.Standby(t, false)
	eventually(t, func() bool {
		return standby.Run(t, "SELECT count(*) FROM pg_tables WHERE tablename = 'holdfast_lock'") == "1"
	}, "the standby has the table")
	c := client(t, standby.URL(), pglock.Options{Lease: time.Second})
	for _, call := range []func() error{
		func() error { _, _, err := c.Lock("a").TryLock(within(t)); return err },
		func() error { _, _, err := c.Lock("a").Lock(within(t)); return err },
		func() error { _, err := c.Lock("a").Inspect(within(t)); return err },
	} {
		err := call()
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.Contains(t, err.Error(), "is a standby")
		require.Contains(t, err.Error(), "target_session_attrs=read-write")
	}
	waits := make(chan error, 1)
	go func() {
		_, unlock, err := c.Lock("a", lock.MaxWait(patience)).Lock(within(t))
		waits <- errors.Join(err, unlock())
	}()
	standby.Promote(t)
	if await(t, waits, "the lock") != nil { // it may have given up before
		taken(t, c.Lock("a"))
	}
}

// A connection that is silent for long is asked whether it lives, and goes on hearing.
func TestAListenerThatHasNothingToHear(t *testing.T) {
	t.Parallel()
	of := database(t)
	opts := pglock.Options{MaxPoll: unpolled}
	_, unlock := take(t, client(t, of, opts).Lock("a", lock.Lease(unpolled)))
	got := waiter(t, client(t, of, opts).Lock("a"))
	listens(t, of, "a")
	eventually(t, func() bool {
		return pgtest.Run(t, of, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND query = '-- ping'") != "0"
	}, "it is asked")
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the message"))
}
