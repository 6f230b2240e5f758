package measure

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// local is a lock of this process.
type local struct{ mu *sync.Mutex }

func (l local) Lock(context.Context) error { l.mu.Lock(); return nil }
func (l local) Unlock() error              { l.mu.Unlock(); return nil }

func TestALoadCountsTheTurnsOfEachGoroutine(t *testing.T) {
	var mu sync.Mutex
	o, err := Load{Locks: []contender.Lock{local{&mu}, local{&mu}, local{&mu}}, For: 20 * time.Millisecond}.
		Run(t.Context())
	require.NoError(t, err)
	require.Len(t, o.Turns, 3)
	require.Equal(t, o.Pairs, o.Turns[0]+o.Turns[1]+o.Turns[2])
	require.Positive(t, o.Pairs)
	require.Zero(t, o.Failures)
	f := o.Figures()
	require.Positive(t, f[Rate])
	require.LessOrEqual(t, f[P50], f[P99])
	require.LessOrEqual(t, f[P99], f[Max])
	require.LessOrEqual(t, f[P50], f[PairP50], "a pair is no shorter than its Lock")
}

// broken fails every other time.
type broken struct{ n *int }

func (b broken) Lock(context.Context) error {
	if *b.n++; *b.n%2 == 0 {
		return errors.New("no")
	}
	return nil
}
func (b broken) Unlock() error { return nil }

func TestFailuresAreCountedAndAreNoTurns(t *testing.T) {
	n := 0
	o, err := Load{Locks: []contender.Lock{broken{&n}}, For: 5 * time.Millisecond}.Run(t.Context())
	require.NoError(t, err)
	require.InDelta(t, o.Pairs, o.Failures, 1)
}

type refusing struct{}

func (refusing) Lock(context.Context) error { return errors.New("no such luck") }
func (refusing) Unlock() error              { return nil }

func TestALoadThatGotNothingIsAnError(t *testing.T) {
	_, err := Load{Locks: []contender.Lock{refusing{}}, For: time.Millisecond}.Run(t.Context())
	require.ErrorContains(t, err, "no such luck")
}

// late is a lock that nobody gets for a while.
type late struct {
	local
	from time.Time
}

func (l late) Lock(ctx context.Context) error {
	if time.Now().Before(l.from) {
		return errors.New("too early")
	}
	return l.local.Lock(ctx)
}

func TestALoadThatGotNothingInALittleTimeIsRunForLonger(t *testing.T) {
	var mu sync.Mutex
	lock := late{local{&mu}, time.Now().Add(50 * time.Millisecond)}
	o, err := Load{Locks: []contender.Lock{lock}, For: time.Millisecond}.Run(t.Context())
	require.NoError(t, err)
	require.Positive(t, o.Pairs)
	require.Greater(t, o.Elapsed, time.Millisecond)
}

func TestTurnsByGroup(t *testing.T) {
	o := Outcome{Turns: []int{1, 3, 4, 4}}
	require.InDelta(t, 4.0, ratio(o.Turns), 1e-9)
	require.InDelta(t, 2.0, o.By(2), 1e-9)
	require.InDelta(t, 1.0, o.By(1), 1e-9)
	require.InDelta(t, 5.0, ratio([]int{0, 5}), 1e-9, "a goroutine without a turn counts as one, not as infinity")
}

func TestASampleIsNeverLargerThanItsRoom(t *testing.T) {
	w := newWorker(nil, 4)
	for i := range 100 {
		w.turns++
		w.remember(time.Duration(i), time.Duration(i))
	}
	require.Len(t, w.waits, 4)
	require.Len(t, w.both, 4)
}

// A client is away from when one of its goroutines got the lock until the next one does.
func TestAbsenceIsTheLongestTimeBetweenTurns(t *testing.T) {
	var a absence
	for _, at := range []time.Duration{2, 3, 10, 12} {
		a.came(at)
	}
	require.EqualValues(t, 7, a.longest.Load())
}

func TestASectionTakesAtLeastItsTime(t *testing.T) {
	for _, d := range []time.Duration{0, 100 * time.Microsecond, 2 * time.Millisecond} {
		start := time.Now()
		work(d)
		require.GreaterOrEqual(t, time.Since(start), d)
	}
}
