package multilock

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/lock"
)

// Inspect asks the store who holds each member, and returns the answers in the order given to New. It asks the members
// one by one, several at a time, and not at one instant: a lock that is taken meanwhile can be seen in one of them and
// not yet in another. It returns what it knows if some do not answer, and joins their errors.
func (l *Lock) Inspect(ctx context.Context) ([]lock.Info, error) {
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	infos := make([]lock.Info, len(l.members))
	errs := l.each(func(i int, member *lock.Lock) (err error) {
		infos[i], err = member.Inspect(ctx)
		return err
	})
	return infos, errors.Join(errs...)
}

// Break takes every member from its holder, in this process or another, and wakes waiters, as [lock.Lock.Break] does
// for one. It is meant for operators. The members may have several holders: a set that is waited for is held by nobody,
// while others hold some of its members, and Break ends them all. Members that nobody holds are skipped; if nobody
// holds any of them, the error is lock.ErrNotHeld. A member that could not be broken does not keep the others from it.
func (l *Lock) Break(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	errs := l.each(func(_ int, member *lock.Lock) error { return member.Break(ctx) })
	skipped := 0
	for i, err := range errs {
		if errors.Is(err, lock.ErrNotHeld) {
			errs[i] = nil
			skipped++
		}
	}
	if skipped == len(errs) {
		return lock.ErrNotHeld
	}
	return errors.Join(errs...)
}

// together is how many members are asked at a time.
const together = 16

// each calls a function with every member and returns the errors in their order.
func (l *Lock) each(call func(i int, member *lock.Lock) error) []error {
	errs := make([]error, len(l.members))
	var all errgroup.Group
	all.SetLimit(together)
	for i, member := range l.members {
		all.Go(func() error {
			errs[i] = call(i, member)
			return nil
		})
	}
	_ = all.Wait()
	return errs
}
