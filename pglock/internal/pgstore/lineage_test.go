package pgstore

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/watchdog"
)

// An address that leads to another cluster is noticed by the first new connection, though the timelines of the two are
// called the same: a dump that was restored, blue and green. A client that holds something asks then. (defect G20)
func TestAnotherClusterIsRecognised(t *testing.T) {
	t.Parallel()
	servers := []*pgtest.Server{pgtest.Start(t), pgtest.Start(t)}
	for _, s := range servers {
		s.Run(t, migrations(tableName))
	}
	var leads atomic.Int64
	config, err := pgxpool.ParseConfig(servers[0].URL())
	require.NoError(t, err)
	config.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, servers[leads.Load()].Addr())
	}
	p := &peer{t: t, Store: New(config, 4, tableName, time.Hour, 0, time.Hour)}
	p.Start(store.Host{
		Clock: watchdog.NewClock(), Limit: patience, Warn: func(string, ...any) {}, Heard: func(string) {},
		Broken: func(string, string) {}, Missed: func() {}, Replaced: func() { p.replaced.Add(1) }, Client: "c",
	})
	t.Cleanup(func() {
		p.End()
		p.HangUp()
		p.Wait()
	})
	p.take("a", "c:1")
	p.conns.pool.reset()
	p.take("b", "c:2")
	require.Zero(t, p.replaced.Load(), "it is the same")
	leads.Store(1)
	p.conns.pool.reset()
	p.take("c", "c:3")
	require.EqualValues(t, 1, p.replaced.Load())
}

// A copy of the disks has the same identifier and timeline, and has written less than was seen. What was asked at the
// same time may be answered in another order. A standby that was promoted may have less, and is told by its timeline.
func TestALogThatGoesBack(t *testing.T) {
	var o lineage
	require.False(t, o.recognise("1", 100, 0, 0))
	require.False(t, o.recognise("1", 300, 100, 0))
	require.False(t, o.recognise("1", 200, 100, 0), "the answer of a connection that was made before the last")
	require.False(t, o.recognise("", 0, 300, 0), "nothing is known")
	require.True(t, o.recognise("1", 200, 300, 0))
	require.False(t, o.recognise("1", 210, 200, 0))
	require.False(t, o.observe("1", 0))
	require.True(t, o.observe("2", 0))
	require.False(t, o.recognise("1", 50, 210, 0), "it is told already")
	require.True(t, o.recognise("2", 60, 50, 0))
}

// The ends of leases are times of a server's clock for those who have known it for a lease. Before that they are trusted
// on the timeline that was known, whichever of the two servers answers. (defect G19)
func TestWhichClockIsTrusted(t *testing.T) {
	const lease = 10 * time.Second
	var o lineage
	require.Empty(t, o.trusts(0, lease), "a client that begins knows no better")
	o.observe("1", 0)
	require.Equal(t, "1", o.trusts(0, lease))
	require.True(t, o.settled(0, lease))
	o.observe("2", 5*time.Second)
	require.Equal(t, "1", o.trusts(14*time.Second, lease))
	o.observe("1", 6*time.Second) // a late answer
	require.False(t, o.settled(15*time.Second, lease), "connections lead to both")
	o.observe("2", 5*time.Second)
	require.Equal(t, "2", o.trusts(15*time.Second, lease))
	require.True(t, o.settled(15*time.Second, lease))
	require.False(t, o.settled(15*time.Second, 2*lease), "for a longer lease")
	require.Equal(t, "1", o.trusts(15*time.Second, 2*lease), "of one with a longer lease")
	o.observe("1", 16*time.Second)
	o.observe("2", 17*time.Second)
	require.Equal(t, "1", o.trusts(26*time.Second, lease))
	require.Equal(t, "2", o.trusts(27*time.Second, lease))
	o.recognise("a", 100, 0, 27*time.Second)
	o.recognise("b", 100, 100, 28*time.Second)
	require.Equal(t, distrusted, o.trusts(37*time.Second, lease), "another cluster, whose timeline is called the same")
	require.Equal(t, "2", o.trusts(38*time.Second, lease))
}

// Behind a pooler the next transaction may be carried out by a server that was promoted since, and of which nobody has
// heard: there each statement compares the timeline. One session that has another number than its connection shows it.
func TestNothingIsSettledBehindAPooler(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	bouncer := pgtest.StartBouncer(t, pgtest.Shared(t), "transaction")
	for to, settled := range map[string]bool{r.url: true, bouncer.To(r.url): false} {
		p := rows{to, r.sql}.open(t, "c")
		require.Equal(t, store.Held, p.take("a", "c:1").Status)
		require.Equal(t, settled, p.settled(time.Second))
		p.release("a", "c:1")
	}
}
