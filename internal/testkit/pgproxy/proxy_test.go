package pgproxy_test

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// lab is a database with an empty table, and a proxy before its server.
type lab struct {
	*pgproxy.Proxy
	t        *testing.T
	database string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	server := pgtest.Shared(t)
	l := &lab{pgproxy.Start(t, server.Addr()), t, server.Database(t)}
	pgtest.Run(t, l.database, "CREATE TABLE t (n int)")
	return l
}

// insert runs a statement through the proxy.
func (l *lab) insert() error {
	return pgtest.Client(l.t, l.t.Context(), l.To(l.database), "INSERT INTO t VALUES (1)").Run()
}

func (l *lab) rows() string {
	l.t.Helper()
	return pgtest.Run(l.t, l.database, "SELECT count(*) FROM t")
}

// sleeps starts a client through the proxy, whose statement lasts until something ends it, or for a minute. It returns
// once the server carries the statement out: a cancellation that comes earlier ends nothing.
func (l *lab) sleeps() *exec.Cmd {
	l.t.Helper()
	client := pgtest.Client(l.t, l.t.Context(), l.To(l.database), "SELECT pg_sleep(60)")
	require.NoError(l.t, client.Start())
	pgtest.Eventually(l.t, func() bool {
		return pgtest.Run(l.t, l.database, "SELECT count(*) FROM pg_stat_activity "+
			"WHERE datname = current_database() AND wait_event = 'PgSleep'") == "1"
	}, "the server sleeps")
	return client
}

func TestRulesDecideTheFateOfRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action pgproxy.Action
		rows   string
		told   bool
	}{
		"pass":       {pgproxy.Pass, "1", true},
		"cut after":  {pgproxy.CutAfter, "1", false},
		"cut before": {pgproxy.CutBefore, "0", false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			rule := l.On("INSERT", c.action)
			require.Equal(t, c.told, l.insert() == nil)
			rule.Wait(t, 1)
			require.Equal(t, c.rows, l.rows())
			require.NoError(t, l.insert(), "the rule applies once")
			require.Equal(t, 1, rule.Fired())
			require.Equal(t, 2, l.Accepted())
		})
	}
}

func TestOtherRequestsPass(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	rule := l.On("UPDATE", pgproxy.CutBefore).Times(-1)
	require.NoError(t, l.insert())
	require.Zero(t, rule.Fired())
}

func TestALostAnswerLeavesTheConnection(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	rule := l.On("INSERT", pgproxy.DropAnswer)
	ctx, cancel := context.WithCancel(t.Context())
	waits := pgtest.Client(t, ctx, l.To(l.database), "INSERT INTO t VALUES (1)")
	require.NoError(t, waits.Start())
	rule.Wait(t, 1)
	require.Equal(t, "1", l.rows())
	cancel()
	require.Error(t, waits.Wait())
}

// A request that was held back is carried out though its client has gone.
func TestAHeldRequestArrivesLate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	gate := pgproxy.NewGate()
	rule := l.On("INSERT", pgproxy.Hold(gate))
	ctx, cancel := context.WithCancel(t.Context())
	waits := pgtest.Client(t, ctx, l.To(l.database), "INSERT INTO t VALUES (1)")
	require.NoError(t, waits.Start())
	rule.Wait(t, 1)
	cancel()
	require.Error(t, waits.Wait())
	require.Equal(t, "0", l.rows())
	gate.Open()
	<-gate.Delivered()
	require.Equal(t, "1", l.rows())
}

func TestNothingGetsOutOfABlackhole(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Blackhole(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.Error(t, pgtest.Client(t, ctx, l.To(l.database), "SELECT 1").Run())
	require.Error(t, ctx.Err(), "it was not even refused")
	l.Blackhole(false)
	require.NoError(t, l.insert())
}

func TestRefuseAndCut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	sleeps := l.sleeps()
	l.Refuse(true)
	require.Error(t, l.insert())
	l.CutAll()
	require.Error(t, sleeps.Wait())
	l.Refuse(false)
	require.NoError(t, l.insert())
}

func TestCancelRequestsAreCounted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	sleeps := l.sleeps()
	pgtest.Eventually(t, func() bool {
		_ = sleeps.Process.Signal(syscall.SIGINT)
		return l.Cancels() > 0
	}, "psql asks the server to cancel")
	require.Error(t, sleeps.Wait())
}
