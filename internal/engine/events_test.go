package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/watchdog"
)

// A call that nobody is told of allocates nothing for that.
func TestNobodyIsToldForNothing(t *testing.T) {
	n := newEvents(Events{}, nil, watchdog.NewClock())
	e, c := &Engine{events: n}, call{Request: &Request{Proto: standing{}}}
	ctx := context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.observed = e.observe(ctx, c.Request, false)
		held, owner := c.observed.Holds(ctx, "", 0, 0)
		c.observed.End(held.Err())
		Ended(owner, nil)
	}))
	require.Nil(t, e.Observe(ctx, func() Call { panic("nobody asks") }))
	require.Nil(t, c.observed)
	require.Nil(t, n.onCommand(), "and a store does not even look at its commands")
}

// A member of a set is not told of by itself.
func TestAMemberIsNotTold(t *testing.T) {
	told := Events{End: func(context.Context, Call, time.Duration, error) {}}
	e := &Engine{events: newEvents(told, nil, watchdog.NewClock())}
	require.Nil(t, e.observe(context.Background(), &Request{Proto: standing{}, Member: true}, false))
}

// A log in JSON has names that can be told apart, and found again (defect G53).
func TestALineOfTheLogHasLegibleNames(t *testing.T) {
	var log bytes.Buffer
	n := newEvents(Events{}, slog.New(slog.NewJSONHandler(&log, nil)), watchdog.NewClock())
	args := []any{"lock", "caf\xe9", "hold", "id"}
	n.line(slog.LevelWarn, "waits", args...)
	var line struct{ Lock, Hold string }
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	assert.Equal(t, `"caf\xe9"`, line.Lock)
	assert.Equal(t, "id", line.Hold)
	assert.Equal(t, "caf\xe9", args[1], "the caller's")
}
