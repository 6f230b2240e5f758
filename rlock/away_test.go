package rlock_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// awayCalls are the rows of a table in docs/when-redis-is-down.md, by what they begin with. Each is carried out with the default
// options.
var awayCalls = map[string][]func(t *testing.T, s *shutdown) error{
	"`Lock`, `Do`, `Acquire`": {
		func(t *testing.T, s *shutdown) error { return awayTake(rlock.New(s.client, "x").Lock(t.Context())) },
		func(t *testing.T, s *shutdown) error {
			return rlock.New(s.client, "x").Do(t.Context(), func(context.Context) error { return nil })
		},
		func(t *testing.T, s *shutdown) error {
			return awayTake(semaphore.New(s.client, "x").Acquire(t.Context(), 1))
		},
	},
	"the same with `MaxWait` or a deadline of 1 s": {
		func(t *testing.T, s *shutdown) error {
			return awayTake(rlock.New(s.client, "x", rlock.MaxWait(time.Second)).Lock(t.Context()))
		},
		func(t *testing.T, s *shutdown) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return awayTake(rlock.New(s.client, "x").Lock(ctx))
		},
	},
	"`TryLock`, `TryAcquire`": {
		func(t *testing.T, s *shutdown) error { return awayTake(rlock.New(s.client, "x").TryLock(t.Context())) },
		func(t *testing.T, s *shutdown) error {
			return awayTake(semaphore.New(s.client, "x").TryAcquire(t.Context(), 1))
		},
	},
	"`unlock`": {func(_ *testing.T, s *shutdown) error { return s.unlock() }},
	"`unlock`, then `Close`": {
		func(_ *testing.T, s *shutdown) error {
			err := s.unlock()
			_ = s.client.Close()
			return err
		},
	},
	"`Close`": {func(_ *testing.T, s *shutdown) error { return s.client.Close() }},
	"`Inspect`, `Break`": {
		func(t *testing.T, s *shutdown) error {
			_, err := rlock.New(s.client, "l0").Inspect(t.Context())
			return err
		},
		func(t *testing.T, s *shutdown) error { return rlock.New(s.client, "l0").Break(t.Context()) },
	},
	"`SetCapacity`, `CountDown`": {
		func(t *testing.T, s *shutdown) error { return semaphore.New(s.client, "x").SetCapacity(t.Context(), 2) },
		func(t *testing.T, s *shutdown) error { return latch.New(s.client, "x").CountDown(t.Context()) },
	},
}

// A Redis that comes back empty grants what somebody holds at once. The holder is told within a third of its lease, and
// so the page says.
func TestWhatAnEmptyRedisCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		var both [2]*rlock.Client
		for i := range both {
			rdb := redis.NewClient(server.Options())
			defer func() { _ = rdb.Close() }()
			var err error
			both[i], err = rlock.NewClient(rdb, &rlock.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			defer func() { _ = both[i].Close() }()
		}
		held := timeLock(t, t.Context(), rlock.New(both[0], "x"))
		server.Miniredis().FlushAll()
		began := time.Now()
		other := timeLock(t, t.Context(), rlock.New(both[1], "x"))
		require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
		require.NoError(t, held.ctx.Err(), "two hold it")
		<-held.ctx.Done()
		require.LessOrEqual(t, time.Since(began), 10*time.Second+100*time.Millisecond)
		var lost *rlock.LostError
		require.ErrorAs(t, context.Cause(held.ctx), &lost)
		require.Equal(t, rlock.LossGone, lost.Reason)
		require.ErrorIs(t, held.unlock(), rlock.ErrLost)
		require.NoError(t, other.ctx.Err())
		require.NoError(t, other.unlock())
	})
}

func awayTake(_ context.Context, _ func() error, err error) error { return err }

// While Redis is away, each call ends within the time that the page names, and with the error (defect F19).
func TestHowLongCallsTakeWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	rows := awayRows(t)
	require.Len(t, rows, len(awayCalls))
	for name, calls := range awayCalls {
		var row []string
		for begins, cells := range rows {
			if begins == name || strings.HasPrefix(begins, name+" and") {
				row = cells
			}
		}
		require.Len(t, row, 4, name)
		for i, how := range []string{"hangs", "refuses", "cannot be reached"} {
			cell := row[i%2]
			limit, err := time.ParseDuration(strings.ReplaceAll(cell, " ", ""))
			require.NoError(t, err, "%s: %s", name, cell)
			for _, call := range calls {
				t.Run(name+", it "+how, func(t *testing.T) {
					t.Parallel()
					inShutdown(t, 0, func(t *testing.T, s *shutdown) {
						switch how {
						case "hangs":
							s.server.Freeze()
						case "refuses":
							s.server.Leave(simredis.Refuse)
						default:
							s.server.Leave(simredis.Stuck)
						}
						began := time.Now()
						awayReturns(t, row[3], call(t, s))
						took := time.Since(began)
						require.LessOrEqual(t, took, limit+100*time.Millisecond)
					})
				})
			}
		}
	}
}

// awayReturns checks an error against the last cell of a row.
func awayReturns(t *testing.T, cell string, err error) {
	t.Helper()
	switch cell {
	case "`ErrUnavailable`":
		require.ErrorIs(t, err, rlock.ErrUnavailable)
	case "`ErrUnconfirmed`":
		require.ErrorIs(t, err, rlock.ErrUnconfirmed)
	case "the locks that were held":
		require.ErrorContains(t, err, `"l0"`)
	default:
		t.Fatalf("the page has %q, which is not tested", cell)
	}
}

// awayRows are the rows of the table, by their first cells.
func awayRows(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/when-redis-is-down.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| call | it hangs, or cannot be reached | it refuses connections | ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := make(map[string][]string)
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.Len(t, cells, 5, line)
		rows[cells[0]] = cells[1:]
	}
	return rows
}
