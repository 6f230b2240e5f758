package rlock_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	outageBegins = "Redis is unavailable; calls wait for it, and holds last until their leases end"
	outageEnds   = "Redis is available again"
	renewalsFail = "renewals fail, and are repeated until the leases end"
	renewalsWork = "renewals succeed again"
)

// The first contact with a Redis that is not there was half a minute of silence (defect F17). It is told while the
// first call waits, once, and so is that Redis answers.
func TestARedisThatIsNotThereIsToldWhileTheFirstCallWaits(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(p *faultproxy.Proxy, on bool){
		"refused": (*faultproxy.Proxy).Refuse, "lost": (*faultproxy.Proxy).Blackhole,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, proxy := &observerLog{}, faultproxy.Start(t, redistest.Shared(t).Addr())
			away(proxy, true)
			opts := &redis.Options{Addr: proxy.Addr(), Password: "secret"}
			if name == "refused" {
				opts.Password = "" // the server would refuse it
			}
			rdb := redis.NewClient(opts)
			t.Cleanup(func() { _ = rdb.Close() })
			client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
				ReleaseTimeout: 100 * time.Millisecond, Logger: slog.New(log),
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			locked, key := make(chan error, 2), redistest.Key(t)
			for i := range cap(locked) {
				go func() {
					_, _, err := rlock.New(client, fmt.Sprint(key, i)).Lock(conductCtx(t))
					locked <- err
				}()
			}
			redistest.Eventually(t, conductLimit, func() bool { return len(log.with(outageBegins)) > 0 }, "it is told")
			require.Empty(t, locked, "while the calls wait")
			line := log.with(outageBegins)[0]
			require.Equal(t, proxy.Addr(), line["node"].String())
			require.Contains(t, line["lock"].String(), key)
			require.Zero(t, line["holds"].Int64())
			if name == "refused" {
				require.Contains(t, line["error"].String(), "connection refused")
			}
			if name == "lost" {
				return // Close ends the calls
			}
			away(proxy, false)
			for range cap(locked) {
				require.NoError(t, conductAwait(t, locked, "it gets in"))
			}
			redistest.Eventually(t, conductLimit, func() bool { return len(log.with(outageEnds)) > 0 }, "the end is told")
			require.Equal(t, proxy.Addr(), log.with(outageEnds)[0]["node"].String())
			require.Positive(t, log.with(outageEnds)[0]["after"].Duration())
			require.Equal(t, 2, log.count(), "and nothing else")
		})
	}
}

// An outage is told once when it begins and once when it ends, however many holds are renewed in vain and however often
// (defect F22): there was a line for each attempt, twice a second for a whole outage.
func TestAnOutageIsToldOnce(t *testing.T) {
	t.Parallel()
	log, proxy := &observerLog{}, faultproxy.Start(t, redistest.Shared(t).Addr())
	failed := make(chan error, 1024)
	client := conductClient(t, proxy.Addr(), &rlock.ClientOptions{
		Lease: 15 * time.Second, Logger: slog.New(log),
		Observer: &rlock.Observer{Renewed: func(r rlock.Renewal) {
			if r.Err != nil {
				failed <- r.Err
			}
		}},
	})
	key := redistest.Key(t)
	var unlocks []func() error
	for i := range 3 {
		_, unlock := conductTake(t, conductCtx(t), rlock.New(client, fmt.Sprint(key, i)))
		unlocks = append(unlocks, unlock)
	}
	require.Zero(t, log.count(), "quiet while Redis answers")
	proxy.Refuse(true)
	proxy.CutAll()
	for range 9 { // each hold at least twice more after the first one
		conductAwait(t, failed, "a renewal fails")
	}
	redistest.Eventually(t, conductLimit, func() bool { return len(log.with(outageBegins)) > 0 }, "it is told")
	require.Equal(t, int64(3), log.with(outageBegins)[0]["holds"].Int64())
	for range 6 {
		conductAwait(t, failed, "renewals go on to fail")
	}
	proxy.Refuse(false)
	redistest.Eventually(t, conductLimit, func() bool { return len(log.with(outageEnds)) > 0 }, "the end is told")
	for _, unlock := range unlocks {
		require.NoError(t, unlock())
	}
	require.Equal(t, 2, log.count(), "once each")
}

// Renewals that a server refuses are told at once, with the number of holds, and once (defect F22). That it
// answers other calls does not end that.
func TestRenewalsThatAreRefusedAreToldOnce(t *testing.T) {
	t.Parallel()
	server, log := redistest.Start(t), &observerLog{}
	opts := deniedUser(t, server)
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	failed := make(chan error, 1024)
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: 3 * time.Second, Logger: slog.New(log),
		Observer: &rlock.Observer{Renewed: func(r rlock.Renewal) {
			if r.Err != nil {
				failed <- r.Err
			}
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	held, _ := conductTake(t, conductCtx(t), rlock.New(client, "held"))
	require.NoError(t, server.Client(t).Do(t.Context(), "ACL", "SETUSER", "locks", "-pexpire").Err())
	for range 3 {
		require.ErrorContains(t, conductAwait(t, failed, "a renewal fails"), "refused to renew")
		_, _, err := rlock.New(client, "other").TryLock(conductCtx(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable)
	}
	redistest.Eventually(t, conductLimit, func() bool { return log.count() > 0 }, "it is told")
	line := log.with(renewalsFail)[0]
	require.Equal(t, int64(1), line["holds"].Int64())
	require.Equal(t, "held", line["lock"].String())
	require.Contains(t, line["error"].String(), "refused to renew")
	require.NoError(t, held.Err())
	require.NoError(t, server.Client(t).Do(t.Context(), "ACL", "SETUSER", "locks", "+pexpire").Err())
	redistest.Eventually(t, conductLimit, func() bool { return len(log.with(renewalsWork)) > 0 }, "the end is told")
	require.NoError(t, held.Err())
	require.Len(t, log.with(renewalsFail), 1)
	require.Equal(t, 2, log.count(), "nothing else")
}
