package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
)

// ErrNotLeader means that another scheduler leads, or nobody does yet.
var ErrNotLeader = errors.New("gocronlock: this scheduler does not lead")

// Elector is what gocron.WithDistributedElector takes: of all schedulers, the one that leads runs all jobs. All methods
// are safe for concurrent use.
type Elector struct {
	election *leader.Election
	resign   context.CancelFunc
	over     chan struct{} // closed when the campaign has ended
	err      error         // why; set before

	mu   sync.Mutex
	term context.Context // the last one; nil: there was none
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector returns an Elector that campaigns from now on, and again after each term that was lost, until Close, which
// the caller must call.
func NewElector(e *leader.Election) *Elector {
	ctx, resign := context.WithCancel(context.Background())
	l := &Elector{election: e, resign: resign, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		l.err = e.Run(ctx, func(term context.Context) error {
			l.mu.Lock()
			l.term = term
			l.mu.Unlock()
			<-term.Done()
			return nil
		})
	}()
	return l
}

// IsLeader returns nil while this scheduler leads, which it knows without asking Redis: its term ends before another
// one's can begin. Otherwise the error matches ErrNotLeader. If the campaign has ended it wraps the reason too: the
// client was closed for instance.
func (l *Elector) IsLeader(context.Context) error {
	select {
	case <-l.over:
		return fmt.Errorf("%w: the campaign has ended: %w", ErrNotLeader, l.err)
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term == nil {
		return ErrNotLeader
	}
	if _, err := l.election.Term(l.term); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return nil
}

// Close resigns, so that another scheduler leads at once, and ends the campaign. Shut the scheduler down first: a job
// that still runs goes on. Its error is why the campaign had ended before, if it had.
func (l *Elector) Close() error {
	l.resign()
	<-l.over
	if errors.Is(l.err, context.Canceled) && !errors.Is(l.err, lock.ErrClosed) {
		return nil
	}
	return l.err
}
