package redlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
)

// defect B19: two of five nodes are away, and one is late with an answer. A try was refused at once, without a
// question to the healthy ones. It is the late one that decides, so it is waited for: for a node's time, and only
// when it has not been late for as long already.
func TestATryWaitsForALateNodeThatDecides(t *testing.T) {
	t.Parallel()
	for range 10 {
		inTime, err := tryWithALateNode(t)
		if inTime {
			require.NoError(t, err)
			return
		}
		t.Logf("the machine was too busy to try while the node was late, but not for long: %v", err)
	}
	require.Fail(t, "the machine is too busy")
}

// tryWithALateNode tries when one node has been late for half a node's time. It reports whether it came to that.
func tryWithALateNode(t *testing.T) (inTime bool, err error) {
	l := newLab(t, 5)
	o := options(30 * time.Second)
	o.NodeTimeout, o.ReleaseTimeout = time.Second, 100*time.Millisecond
	client := l.client(l.proxied(), o)
	first, second := redlock.New(client, "first"), redlock.New(client, "second")
	once(t, first)
	l.soonOn("first")
	gate := faultproxy.NewGate()
	late := l.proxies[2].On(acquires, faultproxy.HoldReply(gate))
	_, unlock := take(t, first) // by the others
	l.proxies[3].Blackhole(true)
	l.proxies[4].Blackhole(true)
	_ = unlock() // to which those two say nothing any more
	late.Wait(t, 1)
	lateSince := time.Now()
	<-time.After(o.NodeTimeout * 3 / 2)

	asked := l.proxies[0].Requests(acquires)
	type result struct {
		err error
		at  time.Duration
	}
	got := make(chan result, 1)
	go func() {
		_, unlock, err := second.TryLock(within(t))
		at := time.Since(lateSince)
		if err == nil {
			_ = unlock()
		}
		got <- result{err, at}
	}()
	redistest.Eventually(t, patience, func() bool {
		return l.proxies[0].Requests(acquires) > asked || len(got) > 0
	}, "a healthy node should be asked")
	gate.Open()
	r := <-got
	return r.err == nil || r.at < 2*o.NodeTimeout-50*time.Millisecond, r.err
}
