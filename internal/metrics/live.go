package metrics

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Series is what tells the locks of a metric apart.
type Series struct {
	Store lock.Store
	Kind  lock.Kind
	Class string
}

// Live is the holds that are live. A histogram counts a hold only when it is over, so that one which hangs for hours
// would not show. The zero Live has none.
type Live struct {
	mu     sync.Mutex
	series map[Series]*list.List // of the *holds of a series, the oldest first
}

// hold is a live hold.
type hold struct {
	series Series
	since  time.Time
	place  *list.Element // nil when the hold is over
}

// liveKey is by what the context of a hold leads to it.
type liveKey struct{ of *Live }

// Begin adds a hold. The context that it returns is for [Live.End].
func (l *Live) Begin(ctx context.Context, series Series) context.Context {
	h := &hold{series: series, since: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.series == nil {
		l.series = make(map[Series]*list.List)
	}
	holds := l.series[series]
	if holds == nil {
		holds = list.New()
		l.series[series] = holds
	}
	h.place = holds.PushBack(h)
	return context.WithValue(ctx, liveKey{l}, h)
}

// End removes the hold that a context was returned for.
func (l *Live) End(ctx context.Context) {
	h, ok := ctx.Value(liveKey{l}).(*hold)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.place != nil {
		l.series[h.series].Remove(h.place)
		h.place = nil
	}
}

// LiveState is how many holds of a series are live, and how long the oldest has lasted.
type LiveState struct {
	Series
	Held   int
	Oldest time.Duration
}

// States returns the states of all series that ever had a hold.
func (l *Live) States() (states []LiveState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for series, holds := range l.series {
		state := LiveState{Series: series, Held: holds.Len()}
		if first := holds.Front(); first != nil {
			state.Oldest = time.Since(first.Value.(*hold).since)
		}
		states = append(states, state)
	}
	return states
}
