package simredis_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
)

// once gives a verdict over the first INCR and lets everything else pass.
func once(verdict simredis.Verdict) simredis.Fault {
	var done bool
	return func(_ int, args []string) simredis.Verdict {
		if args[0] != "incr" || done {
			return simredis.Pass
		}
		done = true
		return verdict
	}
}

// briefly increments n with an answer awaited for a second.
func briefly(t *testing.T, rdb *redis.Client) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return rdb.Incr(ctx, "n").Err()
}

func requireTimeout(t *testing.T, err error) {
	t.Helper()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		name    string
		verdict simredis.Verdict
		check   func(*testing.T, error)
		effects string
	}{
		{"Pass", simredis.Pass, func(t *testing.T, err error) { require.NoError(t, err) }, "1"},
		{"DropReply", simredis.DropReply, requireTimeout, "1"},
		{"DropRequest", simredis.DropRequest, requireTimeout, ""},
		{"Cut", simredis.Cut, func(t *testing.T, err error) { require.ErrorIs(t, err, io.EOF) }, ""},
		{"CutAfter", simredis.CutAfter,
			func(t *testing.T, err error) { require.ErrorIs(t, err, io.EOF) }, "1"},
		{"Delay", simredis.Delay(time.Second / 2),
			func(t *testing.T, err error) { require.NoError(t, err) }, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
				require.NoError(t, rdb.Ping(t.Context()).Err())
				s.SetFault(once(test.verdict))
				test.check(t, briefly(t, rdb))
				require.Equal(t, test.effects, rdb.Get(t.Context(), "n").Val())
				require.NoError(t, rdb.Ping(t.Context()).Err())
			})
		})
	}
}

func TestDelayedRequestOutlivesItsClient(t *testing.T) {
	bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
		require.NoError(t, rdb.Ping(t.Context()).Err())
		s.SetFault(once(simredis.Delay(time.Minute)))
		start := time.Now()
		requireTimeout(t, briefly(t, rdb))
		require.Equal(t, time.Second, time.Since(start))
		time.Sleep(time.Minute - time.Second - time.Millisecond)
		require.Zero(t, rdb.Exists(t.Context(), "n").Val())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "1", rdb.Get(t.Context(), "n").Val())
	})
}

func TestFreezeAndThaw(t *testing.T) {
	bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
		ctx := t.Context()
		require.NoError(t, rdb.Set(ctx, "short", "v", 30*time.Second).Err())
		s.Freeze()
		s.Freeze()
		requireTimeout(t, briefly(t, rdb))
		time.Sleep(time.Minute)
		s.Thaw()
		s.Thaw()
		synctest.Wait()
		require.Equal(t, "1", rdb.Get(ctx, "n").Val(), "what was sent is carried out late")
		require.Zero(t, rdb.Exists(ctx, "short").Val(), "time goes on for a frozen server")
	})
}

func TestFrozenServerEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
		s.Freeze()
		require.Error(t, briefly(t, rdb))
	})
}

func TestDelayedServerEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
		require.NoError(t, rdb.Ping(t.Context()).Err())
		s.SetFault(once(simredis.Delay(time.Hour)))
		require.Error(t, briefly(t, rdb))
	})
}

func TestCutAll(t *testing.T) {
	bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
		require.NoError(t, rdb.Ping(t.Context()).Err())
		s.CutAll()
		require.Error(t, rdb.Ping(t.Context()).Err())
		require.NoError(t, rdb.Ping(t.Context()).Err())
	})
}

func TestFaultsKnowConnections(t *testing.T) {
	bubble(t, func(t *testing.T, s *simredis.Server, rdb *redis.Client) {
		conns := make(chan int, 100)
		s.SetFault(func(conn int, args []string) simredis.Verdict {
			if args[0] == "ping" {
				conns <- conn
			}
			return simredis.Pass
		})
		first, second := rdb.Conn(), rdb.Conn()
		require.NoError(t, first.Ping(t.Context()).Err())
		require.NoError(t, second.Ping(t.Context()).Err())
		require.Equal(t, 1, <-conns)
		require.Equal(t, 2, <-conns)
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
	})
}
