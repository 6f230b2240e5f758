package latch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect A2: a call that changed nothing counts as well. A copy of its request that the network delivers
// when something has changed since must do nothing either.
func TestACopyOfACallThatChangedNothingChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		before func(l *lab, other *latch.Latch)
		call   func(l *lab, late *latch.Latch)
		after  func(l *lab, other *latch.Latch)
		want   int64
	}{
		"a count down of an open latch": {
			"latch_down", func(*lab, *latch.Latch) {},
			func(l *lab, late *latch.Latch) { require.NoError(l, late.CountDown(l.bounded())) },
			func(l *lab, other *latch.Latch) { require.NoError(l, other.Set(l.bounded(), 1)) }, 1,
		},
		"a deletion of an open latch": {
			"latch_down", func(*lab, *latch.Latch) {},
			func(l *lab, late *latch.Latch) { require.NoError(l, late.Delete(l.bounded())) },
			func(l *lab, other *latch.Latch) { require.NoError(l, other.Set(l.bounded(), 4)) }, 4,
		},
		"a set while another count runs": {
			"latch_set", func(l *lab, other *latch.Latch) { require.NoError(l, other.Set(l.bounded(), 1)) },
			func(l *lab, late *latch.Latch) { require.ErrorIs(l, late.Set(l.bounded(), 5), rlock.ErrBusy) },
			func(l *lab, other *latch.Latch) { require.NoError(l, other.CountDown(l.bounded())) }, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, time.Hour)
			// A long lease: the copy comes long before its not-after.
			late := latch.New(newClient(t, l.proxy.Addr(), &rlock.ClientOptions{Lease: time.Minute}), l.name)
			require.NoError(t, late.Delete(l.bounded()), "the server's clock is known from here on")
			c.before(l, l.other)
			gate := faultproxy.NewGate()
			t.Cleanup(gate.Open)
			l.proxy.On(faultproxy.Script(luacall.SHA(c.script)), faultproxy.DuplicateLater(gate)).Times(1)
			c.call(l, late)
			c.after(l, l.other)
			gate.Open()
			arrives(t, gate.Delivered(), "the copy is carried out")
			l.is(c.want)
		})
	}
}
