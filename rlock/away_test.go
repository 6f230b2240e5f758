package rlock_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// awayCalls are the rows of a table in docs/operations.md, by what they begin with. Each is carried out with the default
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

func awayTake(_ context.Context, _ func() error, err error) error { return err }

// While Redis is away, because it hangs or because it refuses connections, each call ends within the time that the page
// names (defect F19).
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
		require.Len(t, row, 2, name)
		for i, how := range []string{"hangs", "refuses"} {
			limit, err := time.ParseDuration(strings.ReplaceAll(row[i], " ", ""))
			require.NoError(t, err, "%s: %s", name, row[i])
			for _, call := range calls {
				t.Run(name+", it "+how, func(t *testing.T) {
					t.Parallel()
					inShutdown(t, 0, func(t *testing.T, s *shutdown) {
						if how == "hangs" {
							s.server.Freeze()
						} else {
							s.server.Leave(simredis.Refuse)
						}
						began := time.Now()
						require.Error(t, call(t, s))
						took := time.Since(began)
						require.LessOrEqual(t, took, limit+100*time.Millisecond)
					})
				})
			}
		}
	}
}

// awayRows are the rows of the table, by their first cells.
func awayRows(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| call | Redis hangs | it refuses connections | ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := make(map[string][]string)
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		require.GreaterOrEqual(t, len(cells), 3, line)
		rows[cells[0]] = cells[1:3]
	}
	return rows
}
