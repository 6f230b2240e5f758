package rlock_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// shutdown is a client of a server that can hang, or refuse every connection, with three locks held.
type shutdown struct {
	server *simredis.Server
	client *rlock.Client
	unlock func() error // of one of them
}

func inShutdown(t *testing.T, release time.Duration, test func(t *testing.T, s *shutdown)) {
	synctest.Test(t, func(t *testing.T) {
		s := &shutdown{server: simredis.New(t)}
		rdb := redis.NewClient(s.server.Options())
		defer func() { _ = rdb.Close() }()
		var err error
		s.client, err = rlock.NewClient(rdb, &rlock.ClientOptions{
			ReleaseTimeout: release, Logger: slog.New(slog.DiscardHandler), Owner: "a host",
		})
		require.NoError(t, err)
		for i := range 3 {
			s.unlock = timeLock(t, t.Context(), rlock.New(s.client, fmt.Sprint("l", i))).unlock
		}
		defer func() {
			s.server.SetDialFault(nil)
			s.server.Thaw()
			time.Sleep(time.Minute)
			_ = s.client.Close()
		}()
		test(t, s)
	})
}

// A server that has not answered an unlock for ReleaseTimeout is not waited for that long once more by the Close that
// follows, whether or not other locks are held (defect F20).
func TestAShutdownTakesOneReleaseTimeout(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *shutdown){
		"it hangs": func(s *shutdown) { s.server.Freeze() },
		"it refuses": func(s *shutdown) {
			s.server.Leave(simredis.Refuse)
		},
	} {
		for _, release := range []time.Duration{time.Second, 5 * time.Second} {
			t.Run(fmt.Sprint(name, ", ", release), func(t *testing.T) {
				inShutdown(t, release, func(t *testing.T, s *shutdown) {
					leave(s)
					began := time.Now()
					require.ErrorIs(t, s.unlock(), rlock.ErrUnconfirmed)
					err := s.client.Close()
					took := time.Since(began)
					require.ErrorContains(t, err, "l0")
					require.LessOrEqual(t, took, release*3/2+100*time.Millisecond) // which is for the observer
				})
			})
		}
	}
}

// The control: if the server answers again, Close releases everything, what the unlock could not among it, and though
// it answers only after some of the time that Close has.
func TestACloseReleasesAllWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{0, 30 * time.Millisecond, time.Second} {
		t.Run(pause.String(), func(t *testing.T) {
			inShutdown(t, 5*time.Second, func(t *testing.T, s *shutdown) {
				s.server.Leave(simredis.Refuse)
				require.ErrorIs(t, s.unlock(), rlock.ErrUnconfirmed)
				time.AfterFunc(pause, func() { s.server.SetDialFault(nil) })
				require.ErrorContains(t, s.client.Close(), "l0")
				for i := range 3 {
					require.False(t, s.server.Miniredis().Exists(fmt.Sprint("l", i)))
				}
			})
		})
	}
}

// A Close without such an unlock before it waits for a server for the whole of ReleaseTimeout.
func TestACloseWaitsForAServerThatMayComeBack(t *testing.T) {
	t.Parallel()
	inShutdown(t, 5*time.Second, func(t *testing.T, s *shutdown) {
		require.NoError(t, s.unlock())
		s.server.Leave(simredis.Refuse)
		time.AfterFunc(4*time.Second, func() { s.server.SetDialFault(nil) })
		require.ErrorContains(t, s.client.Close(), "l0")
		require.False(t, s.server.Miniredis().Exists("l0"))
	})
}

// A real server that stops (defect F20).
func TestAShutdownBesideAServerThatHangs(t *testing.T) {
	t.Parallel()
	const release = 3 * time.Second
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	client := conductClient(t, proxy.Addr(), &rlock.ClientOptions{ReleaseTimeout: release})
	_, unlock := conductTake(t, conductCtx(t), rlock.New(client, "a"))
	_, _ = conductTake(t, conductCtx(t), rlock.New(client, "b"))
	server.Stop()
	began := time.Now()
	require.ErrorIs(t, unlock(), rlock.ErrUnconfirmed)
	require.ErrorContains(t, client.Close(), `"b"`)
	took := time.Since(began)
	server.Continue()
	require.Less(t, took, release*3/2)
}
