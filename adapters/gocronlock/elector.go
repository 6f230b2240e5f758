package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
)

// ErrNotLeader means that another scheduler leads, or nobody does yet.
var ErrNotLeader = errors.New("holdfast: this scheduler does not lead")

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

// afterRefusal is how long an Elector that Redis refuses waits before it campaigns again.
const afterRefusal = 5 * time.Second

// NewElector returns an Elector that campaigns from now on, and again after each term that was lost, until Close, which
// the caller must call. It also goes on where Redis refuses it, since a right that is granted later is enough then. The
// client's Logger and [Elector.IsLeader] say why it cannot campaign.
func NewElector(e *leader.Election) *Elector {
	ctx, resign := context.WithCancel(context.Background())
	l := &Elector{election: e, resign: resign, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		l.err = l.campaign(ctx)
	}()
	return l
}

// campaign runs the election until it ends with ctx, or with an error that no second attempt mends. That Redis refuses
// this client is none: Run returns it to its caller, and here there is no such caller.
func (l *Elector) campaign(ctx context.Context) error {
	for {
		err := l.election.Run(ctx, func(term context.Context) error {
			l.mu.Lock()
			l.term = term
			l.mu.Unlock()
			<-term.Done()
			return nil
		})
		if !store.Denied(err) {
			return err
		}
		timer := time.NewTimer(afterRefusal)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// IsLeader returns nil while this scheduler leads, which it knows without asking Redis: its term ends before another
// one's can begin. Otherwise the error matches ErrNotLeader. It wraps the reason too if the last campaign failed,
// because Redis does not answer or refuses this client, or if the campaign has ended: the client was closed for
// instance. gocron logs none of these errors.
func (l *Elector) IsLeader(context.Context) error {
	select {
	case <-l.over:
		return fmt.Errorf("%w: the campaign has ended: %w", ErrNotLeader, l.err)
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.term != nil {
		if _, err = l.election.Term(l.term); err == nil {
			return nil
		}
	}
	if trouble := l.election.Err(); trouble != nil {
		err = trouble // it says why there was no other term since
	}
	if err == nil {
		return ErrNotLeader
	}
	return fmt.Errorf("%w: %w", ErrNotLeader, err)
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
