package redlock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/opendefect"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/redlock"
)

// defect B18: nobody listens for the message that every node publishes when a lock is released, so a waiter
// comes after a pause that has grown to MaxPoll, and not when the lock is free.
func TestAWaiterListensForTheRelease(t *testing.T) {
	t.Parallel()
	opendefect.Shows(t, "B18", `^a call waits, and nobody listens`, func() error {
		l := newLab(t, 3)
		_, unlock := take(t, redlock.New(l.client(l.direct(), options(patience)), "hint"))
		defer func() { require.NoError(t, unlock()) }()
		waiter := redlock.New(l.client(l.proxied(), options(patience)), "hint")
		ctx, cancel := context.WithCancel(within(t))
		waited := make(chan struct{})
		defer func() { <-waited }()
		defer cancel()
		go func() {
			defer close(waited)
			_, _, _ = waiter.Lock(ctx)
		}()
		redistest.Eventually(t, patience, func() bool {
			return l.proxies[0].Requests(acquires) > 5
		}, "it should be answered that it is busy, time and again")
		for _, s := range l.servers {
			const channel = "redisson_lock__channel:{hint}"
			listening, err := s.Client(t).PubSubNumSub(within(t), channel).Result()
			require.NoError(t, err)
			if listening[channel] > 0 {
				return nil
			}
		}
		return fmt.Errorf("a call waits, and nobody listens for the release at any of %d nodes", len(l.servers))
	})
}
