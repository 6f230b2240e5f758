package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// sharing is the turns of some clients that all want one lock, each with one goroutine.
type sharing struct {
	mu     sync.Mutex // guards what follows
	left   int
	turns  []int
	last   []int // the number of a client's last turn
	missed int   // the most turns that others had while one waited
}

func newSharing(clients, turns int) *sharing {
	return &sharing{left: turns, turns: make([]int, clients), last: make([]int, clients)}
}

// begins notes a turn. It reports false if that was one too many.
func (s *sharing) begins(client int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := 0
	for _, n := range s.turns {
		had += n
	}
	s.missed = max(s.missed, had-s.last[client])
	if s.left == 0 {
		return false
	}
	s.left--
	s.turns[client]++
	s.last[client] = had + 1
	return true
}

// loop takes the lock, works and releases it, until no turn is left.
func (s *sharing) loop(ctx context.Context, client int, lock *rlock.Lock, work time.Duration) error {
	for goesOn := true; goesOn; {
		if err := lock.Do(ctx, func(context.Context) error {
			if goesOn = s.begins(client); goesOn {
				<-time.After(work) // the work
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// ordinary are the options of a deployment. But the servers vote at once, and none is late because the machine is busy.
func ordinary() redlock.Options {
	o := options(30 * time.Second)
	o.MaxPoll, o.NodeTimeout = 0, 3*time.Second
	return o
}

// Clients that release a lock and want it again at once take turns: no holder gets in again and again before those that
// wait for it (defect F4).
func TestClientsTakeTurns(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	for _, row := range []struct {
		clients, turns int
		work           time.Duration
	}{
		{2, 60, 5 * time.Millisecond}, {2, 40, 24 * time.Millisecond}, {2, 20, 200 * time.Millisecond},
		{4, 120, 5 * time.Millisecond}, {4, 80, 24 * time.Millisecond}, {4, 40, 200 * time.Millisecond},
	} {
		name := fmt.Sprintf("%d clients, %v of work", row.clients, row.work)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSharing(row.clients, row.turns)
			ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
			defer cancel()
			var locks []*rlock.Lock
			for range row.clients {
				locks = append(locks, redlock.New(l.client(l.direct(), ordinary()), name))
				once(t, locks[len(locks)-1]) // its connections stand
			}
			done := make(chan error, row.clients)
			for i, lock := range locks {
				go func() { done <- s.loop(ctx, i, lock, row.work) }()
			}
			for range row.clients {
				require.NoError(t, <-done)
			}
			t.Logf("turns %v; one waited for %d of others", s.turns, s.missed)
			require.LessOrEqual(t, slices.Max(s.turns), 4*slices.Min(s.turns), "turns: %v", s.turns)
			require.LessOrEqual(t, s.missed, 10*(row.clients-1), "turns of others while one waited")
		})
	}
}

// A caller that waits for a few seconds gets in beside a client that takes the lock again and again (defect F4).
func TestAShortWaitIsEnoughBesideALoop(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	s := newSharing(1, -1) // which never comes to 0
	ctx, stop := context.WithCancel(within(t))
	busy := redlock.New(l.client(l.direct(), ordinary()), "busy")
	once(t, busy)
	done := make(chan error, 1)
	go func() { done <- s.loop(ctx, 0, busy, 50*time.Millisecond) }()
	for range 5 {
		guest := redlock.New(l.client(l.direct(), ordinary()), "busy", rlock.MaxWait(3*time.Second))
		once(t, guest)
	}
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}
