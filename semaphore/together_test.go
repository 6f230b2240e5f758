package semaphore_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/semaphore"
)

// held has the replies to runs of the scripts wait, until the function that it returns is called.
func (l *lab) held(times int, scripts ...string) (*faultproxy.Rule, func()) {
	l.Helper()
	gate := faultproxy.NewGate()
	l.Cleanup(gate.Open)
	return l.proxy.On(func(r faultproxy.Request) bool {
		return slices.ContainsFunc(scripts, func(name string) bool { return r.SHA() == luacall.SHA(name) })
	}, faultproxy.HoldReply(gate)).Times(times), gate.Open
}

// defect B5: where permits are free, nobody stands behind another one's round trip.
func TestPermitsAreAskedForTogether(t *testing.T) {
	t.Parallel()
	const callers = 4
	l := newLab(t, nil)
	l.loadScripts()
	s := semaphore.New(l.longLived(), l.name)
	require.NoError(t, s.SetCapacity(t.Context(), 100))
	_, open := l.held(callers, "permit_acquire", "permit_acquire_many")
	results := make(chan came, callers)
	for range callers {
		go func() {
			held, release, err := s.Acquire(l.bounded(), 1)
			results <- came{held, release, err}
		}()
	}
	l.soon(100-callers, callers)
	require.Empty(t, results, "all were carried out, and nobody has an answer")
	open()
	for range callers {
		got := arrives(t, results, "the answers are there")
		require.NoError(t, got.err)
		require.NoError(t, got.release())
	}
	l.sums(100, 0)
}

// defect B6: an attempt is not refused because somebody else is asking.
func TestAnAttemptBesideAnotherOne(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.loadScripts()
	client := l.longLived()
	s, c := semaphore.New(client, l.name), semaphore.NewCounting(client, l.name+":c")
	require.NoError(t, s.SetCapacity(t.Context(), 100))
	require.NoError(t, c.Set(t.Context(), 100))
	for script, call := range map[string]func() error{
		"permit_acquire": func() error {
			_, release, err := s.TryAcquire(l.bounded(), 1)
			if err != nil {
				return err
			}
			return release()
		},
		"count_acquire": func() error { return c.TryAcquire(l.bounded(), 1) },
	} {
		rule, open := l.held(1, script)
		first := make(chan error, 1)
		go func() { first <- call() }()
		rule.Wait(t, 1) // it was carried out, and has no answer
		require.NoError(t, call(), script)
		nothingYet(t, first, "its answer is held")
		open()
		require.NoError(t, arrives(t, first, "its answer is there"))
	}
}

// Of several who asked together and were refused, the first goes on asking, and the others stand behind it.
func TestThoseWhoWereRefusedTogetherHaveTheirTurn(t *testing.T) {
	t.Parallel()
	const callers = 6
	l := newLab(t, nil)
	l.loadScripts()
	s := l.leased(1)
	_, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	rule, open := l.held(1, "permit_acquire", "permit_acquire_many")
	results := make(chan came, callers)
	for range callers {
		go func() {
			held, release, err := s.Acquire(l.bounded(), 1)
			results <- came{held, release, err}
		}()
	}
	rule.Wait(t, 1)
	open()
	require.NoError(t, release())
	for range callers {
		got := arrives(t, results, "its turn")
		require.NoError(t, got.err)
		l.sums(0, 1)
		require.NoError(t, got.release())
	}
	l.sums(1, 0)
}
