package redlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
)

// hears waits until a client listens for releases of the lock at these servers.
func (l *lab) hears(name string, at ...int) {
	l.t.Helper()
	channel := "redisson_lock__channel:{" + name + "}"
	for _, i := range at {
		redistest.Eventually(l.t, patience, func() bool {
			listening, err := l.servers[i].Client(l.t).PubSubNumSub(within(l.t), channel).Result()
			return err == nil && listening[channel] > 0
		}, "a call that waits should listen for the release")
	}
}

// A waiter listens for the message that a node publishes when a lock is released, and does not ask meanwhile (defect
// B18). One node that it hears is enough.
func TestAWaiterListensForTheRelease(t *testing.T) {
	t.Parallel()
	for name, hears := range map[string][]int{"every node": {0, 1, 2}, "one node": {1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 3)
			o := options(passLease)
			o.MaxPoll, o.NodeTimeout = passLease, 3*time.Second
			lock := redlock.New(l.client(l.direct(), o), "hint")
			once(t, lock) // its connections stand
			l.soonOn("hint")
			_, unlock := take(t, lock)
			l.soonOn("hint", 0, 1, 2)
			if len(hears) == 1 {
				for _, p := range []*faultproxy.Proxy{l.proxies[0], l.proxies[2]} {
					p.On(faultproxy.Command("SUBSCRIBE"), faultproxy.CutBefore).Times(-1)
				}
			}
			waiter := redlock.New(l.client(l.proxied(), o), "hint")
			got := make(chan turn, 1)
			ctx := within(t)
			go func() {
				held, unlock, err := waiter.Lock(ctx)
				got <- turn{held, unlock, err}
			}()
			l.hears("hint", hears...)
			asked := func() int { return l.proxies[hears[0]].Requests(acquires) }
			redistest.Eventually(t, patience, func() bool {
				before := asked()
				<-time.After(200 * time.Millisecond) // in which it would ask if it did not rely on messages
				return asked() == before
			}, "it should not ask before it hears")
			require.NoError(t, unlock())
			in := redistest.Receive(t, patience, got, "the message should wake it")
			require.NoError(t, in.err)
			require.NoError(t, in.unlock())
		})
	}
}
