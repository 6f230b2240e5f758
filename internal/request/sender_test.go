package request

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Several attempts must fit into the time that a renewal has, and none may take for ever.
func TestCommandLimit(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for lease, want := range map[time.Duration]time.Duration{
		600 * ms: 100 * ms, 6 * s: s, 18 * s: 3 * s, 30 * s: 3 * s, time.Hour: 3 * s,
	} {
		require.Equal(t, want, CommandLimit(lease), "%v", lease)
	}
	sender := New(Config{Lease: 6 * s})
	require.Equal(t, 100*ms, sender.Limit(600*ms), "a request's own short lease")
	require.Equal(t, s, sender.Limit(time.Hour), "the client's, for a longer one")
}

// The loop of all requests that are sent again: which attempts follow which, when, and what ends it.
func TestRetry(t *testing.T) {
	const end = 10 * time.Second
	for name, test := range map[string]struct {
		says    []Next // the last one again and again
		stop    func(cancel func(), s *Sender)
		settled bool
		tries   int
		after   time.Duration
	}{
		"settled at once":                 {says: []Next{Settled}, settled: true, tries: 1},
		"given up":                        {says: []Next{Later, GiveUp}, tries: 2, after: FirstPause},
		"settled after pauses":            {[]Next{Later, Later, Later, Settled}, nil, true, 4, 7 * FirstPause},
		"nothing is sent beyond the end":  {says: []Next{Later}, tries: 25, after: 9630 * time.Millisecond},
		"its caller leaves":               {says: []Next{Later}, stop: func(c func(), _ *Sender) { c() }, tries: 1},
		"the client is closed":            {says: []Next{Later}, stop: func(_ func(), s *Sender) { s.Close() }, tries: 1},
		"what is settled is settled then": {[]Next{Settled}, func(c func(), s *Sender) { c(); s.Close() }, true, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := watchdog.NewClock()
				s := New(Config{Clock: clock, Lease: time.Minute})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tries, began := 0, clock.Now()
				settled := s.Retry(ctx, began+end, func() Next {
					tries++
					if test.stop != nil {
						test.stop(cancel, s)
					}
					return test.says[min(tries, len(test.says))-1]
				})
				require.Equal(t, test.settled, settled)
				require.Equal(t, test.tries, tries)
				require.Equal(t, test.after, clock.Now()-began)
			})
		})
	}
}

// A call that was begun is joined by Close; one that comes later is refused.
func TestCallsAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Clock: watchdog.NewClock(), Lease: time.Minute})
		release := make(chan struct{})
		require.True(t, s.Spawn(func() { <-release }))
		require.True(t, s.Close())
		require.False(t, s.Close(), "once")
		require.False(t, s.Begin())
		require.False(t, s.Spawn(func() { t.Error("it must not run") }))
		before := time.Now()
		s.WaitUntil(time.Second)
		require.Equal(t, time.Second, time.Since(before), "it waits no longer than that")
		close(release)
		s.Wait()
	})
}

// Requests that follow one another have one worker, as many as are under way at a time have one each, and some of those
// are parked until Close, which joins them.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Clock: watchdog.NewClock(), Lease: time.Minute})
		ran := 0
		for range 10 {
			require.True(t, s.workers.run(s, func() { ran++ }))
			synctest.Wait()
			require.EqualValues(t, 1, s.workers.parked.Load())
		}
		require.Equal(t, 10, ran)

		release := make(chan struct{})
		for range 2 * mostParked {
			require.True(t, s.workers.run(s, func() { <-release }), "none waits for another")
		}
		synctest.Wait()
		require.Zero(t, s.workers.parked.Load())
		close(release)
		synctest.Wait()
		require.EqualValues(t, mostParked, s.workers.parked.Load())

		require.True(t, s.Close())
		s.Wait()
		require.False(t, s.workers.run(s, func() { t.Error("it must not run") }))
	})
}
