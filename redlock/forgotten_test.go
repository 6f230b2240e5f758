package redlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
)

// A request that is sent once more, because its connection did not answer, may be carried out after all: when the lock
// was released, and nobody knows of it any more (defect G3). What it takes is given back long before the lease ends.
func TestTheFirstOfTwoCopiesLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	lock := redlock.New(l.client(l.proxied(), options(time.Minute)), "copied")
	once(t, lock)
	gate := faultproxy.NewGate()
	first := l.proxies[0].On(acquires, faultproxy.Late(gate)).Times(1)
	_, unlock, err := lock.TryLock(within(t))
	require.NoError(t, err)
	require.Equal(t, 1, first.Fired())
	require.NoError(t, unlock())
	l.soonOn("copied")
	gate.Open()
	redistest.Receive(t, patience, gate.Delivered(), "the first copy arrives")
	l.soonOn("copied")
	once(t, lock)
}
