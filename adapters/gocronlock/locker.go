package gocronlock

import (
	"context"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-go/holdfast/rlock"
)

// Locker is what gocron.WithDistributedLocker takes. All methods are safe for concurrent use.
type Locker struct {
	client  *rlock.Client
	prefix  string
	atLeast time.Duration
	opts    []rlock.Option
}

var _ gocron.Locker = (*Locker)(nil)

// New returns a Locker whose locks have the names of the jobs after a prefix. Each is kept in Redis until atLeast after
// it was acquired, however short the job is: as [rlock.MinHold] does, whose limits atLeast has. It should be longer
// than the clocks of the machines differ, and shorter than the interval of the job. The options are those of the locks.
func New(client *rlock.Client, prefix string, atLeast time.Duration, opts ...rlock.Option) *Locker {
	return &Locker{client, prefix, atLeast, append(opts[:len(opts):len(opts)], rlock.MinHold(atLeast))}
}

// Lock makes one attempt to take the lock of a job and does not wait: a scheduler that comes late has nothing to do.
// The error matches rlock.ErrBusy if another scheduler runs the job, or ran it less than atLeast ago.
func (l *Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	held, unlock, err := rlock.New(l.client, l.prefix+key, l.opts...).TryLock(ctx)
	if err != nil {
		return nil, err
	}
	return &Lock{held, unlock}, nil
}

// Lock is a lock that a scheduler holds while a job runs.
type Lock struct {
	held   context.Context
	unlock func() error
}

// Context ends when the lock is lost, or unlocked. gocron does not give it to the job, see the rules of the package.
func (l *Lock) Context() context.Context { return l.held }

// Unlock ends the hold, whether ctx has ended or not: that of gocron often has. It returns a *rlock.LostError if the
// hold was lost before, and a *rlock.ReleaseError if the job ran under the lock and Redis has not confirmed the
// release. gocron drops both. The client logs the loss, and tells its Observer of either.
func (l *Lock) Unlock(context.Context) error {
	return l.unlock()
}
