package redlock

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// A node that fails is tried again after pauses that double up to half a second, and counts as down from the second
// failure on. An answer ends all of that.
func TestPausesOfANodeThatFails(t *testing.T) {
	const timeout = 200 * ms
	broken := errors.New("the connection broke")
	var h health
	require.NoError(t, h.refuses(0, timeout))
	now := time.Duration(0)
	for i, pause := range []time.Duration{20, 40, 80, 160, 320, 500, 500} {
		h.begins(now)
		now += timeout // in time
		h.fails(now, timeout, timeout, broken, nil)
		require.Equal(t, i > 0, h.down())
		require.Equal(t, broken, h.refuses(now+pause*ms-1, timeout))
		require.NoError(t, h.refuses(now+pause*ms, timeout))
		require.Equal(t, i > 0, h.waits(now, timeout), "after one failure the next connection is tried at once")
		now += pause * ms
	}
	h.begins(now)
	require.Equal(t, errSilent, h.refuses(now, timeout), "one pipeline finds out whether a node that is down is back")
	h.works(80*ms, timeout)
	require.NoError(t, h.refuses(now, timeout))
	require.False(t, h.down() || h.silent(now, timeout) || h.waits(now, timeout))
	require.Equal(t, 10*ms, h.rtt)
	h.works(time.Hour, timeout)
	require.Equal(t, 10*ms+190*ms/8, h.rtt, "an answer that is late weighs no more than NodeTimeout")
}

// A pipeline that is unanswered for longer than NodeTimeout makes its node silent. Patient commands still wait for as
// long again, as for a slow node; after a failure that was no silence, until the next connection is tried.
func TestANodeThatIsSilentIsFirstLate(t *testing.T) {
	const timeout = 200 * ms
	var h health
	h.begins(0)
	for _, row := range []struct {
		at           time.Duration
		silent, late bool
	}{{timeout, false, true}, {timeout + 1, true, true}, {2 * timeout, true, true}, {2*timeout + 1, true, false}} {
		require.Equal(t, row.silent, h.silent(row.at, timeout), row.at)
		require.Equal(t, row.late, h.late(row.at, timeout), row.at)
	}
	h.fails(timeout+1, timeout+1, timeout, errSilent, nil)
	require.True(t, h.down(), "a failure after a silence counts as two")
	require.False(t, h.late(timeout+1, timeout))

	h = health{}
	h.begins(0)
	h.fails(ms, ms, timeout, errors.New("the connection broke"), nil)
	require.True(t, h.late(ms, timeout))

	h = health{}
	guarded := &refusal{until: 10 * time.Second}
	h.fails(ms, ms, timeout, guarded, guarded)
	require.ErrorIs(t, h.refuses(10*time.Second-1, timeout), guarded)
	require.NoError(t, h.refuses(10*time.Second, timeout), "it is asked when its guard time has passed")
	require.False(t, h.late(ms, timeout))
	require.True(t, h.waits(ms, timeout))
}

// A connection is suspected only if its node has been quick until now, and only once: what is sent again has all of the
// time (defect G3).
func TestWhichConnectionsAreSuspected(t *testing.T) {
	const timeout = 200 * ms
	var h health
	require.Zero(t, h.suspectsAfter(timeout), "nobody knows whether it is quick")
	h.works(ms, timeout)
	require.Equal(t, timeout/2, h.suspectsAfter(timeout))
	require.Zero(t, h.suspectsAfter(100*ms-1), "a busy machine stands still for as long")
	h.begins(0)
	h.suspects()
	require.True(t, h.again)
	require.Zero(t, h.suspectsAfter(timeout))
	h.works(ms, timeout)
	require.Equal(t, timeout/2, h.suspectsAfter(timeout))
	h.begins(0)
	require.False(t, h.again)
	h.fails(ms, ms, timeout, errSilent, nil)
	require.Zero(t, h.suspectsAfter(timeout), "it has just failed")
	h = health{}
	for range 20 {
		h.works(50*ms, timeout)
	}
	require.Zero(t, h.suspectsAfter(timeout), "it is slow")
}
