package request

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
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

// oneNode is a store of which only the node of a key is asked for.
type oneNode struct{ store.Store }

func (oneNode) Node(string) string                                          { return "node" }
func (oneNode) Within(ctx context.Context, _ time.Duration) context.Context { return ctx }

// A request that came too late did nothing, and is sent again by the time that its answer told.
func TestARequestThatWasLateIsSentAgain(t *testing.T) {
	const now = 1_000_000_000
	for name, test := range map[string]struct {
		answers []Answer
		leaves  bool
		sent    int
		err     error
	}{
		"the clock was not known":     {answers: []Answer{{Late: true, Now: now}, {Now: now}}, sent: 2},
		"the clock was set ahead":     {answers: []Answer{{Late: true, Now: now}, {Late: true, Now: 2 * now}, {Now: 2 * now}}, sent: 3},
		"the clock runs away":         {answers: []Answer{{Late: true, Now: now}}, sent: 3, err: errClock},
		"its caller leaves meanwhile": {answers: []Answer{{Late: true, Now: now}}, leaves: true, sent: 1, err: store.ErrUnsent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{Store: oneNode{}, Clock: watchdog.NewClock(), Lease: time.Minute})
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				var notAfters []int64
				sent, err := s.Send(ctx, crash.Acquire, keyed{}, time.Second, func(_ context.Context, notAfter int64) (Answer, error) {
					notAfters = append(notAfters, notAfter)
					if test.leaves {
						leave()
					}
					return test.answers[min(len(notAfters), len(test.answers))-1], nil
				})
				require.ErrorIs(t, err, test.err)
				require.Len(t, notAfters, test.sent)
				require.Zero(t, notAfters[0])
				for i, notAfter := range notAfters[1:] {
					require.Greater(t, notAfter, test.answers[min(i, len(test.answers)-1)].Now)
				}
				require.Equal(t, notAfters[len(notAfters)-1], sent.NotAfter)
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
