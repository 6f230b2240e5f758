package good

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// group waits for functions, like that of errgroup.
type group struct {
	wg  sync.WaitGroup
	err error
}

func (g *group) Go(fn func() error) { g.wg.Go(func() { g.err = fn() }) }
func (g *group) Wait() error        { g.wg.Wait(); return g.err }

func together(ctx context.Context, lock *rlock.Lock, parts []string) error {
	return lock.Do(ctx, func(ctx context.Context) error {
		var g group
		for _, part := range parts {
			g.Go(func() error { return work(ctx, part) })
		}
		return g.Wait()
	})
}

func goroutines(ctx context.Context, lock *rlock.Lock) (err error) {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	go heartbeat(held)
	go func() { heartbeat(held) }()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Add(1)
	go func() {
		defer wg.Done()
		_ = work(held)
	}()
	return work(held)
}

// A heartbeat goes on until the hold ends.
func heartbeats(ctx context.Context, lock *rlock.Lock, beat func(context.Context)) error {
	return lock.Do(ctx, func(held context.Context) error {
		go heartbeat(held)
		go beat(held)
		go func() { _ = work(ctx) }() // may outlive the hold
		return work(held)
	})
}

func heartbeat(ctx context.Context) {
	for ctx.Err() == nil {
		_ = work(ctx)
	}
}

func waitedFor(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		done := make(chan error, 1)
		go func() { done <- work(held) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done(): // work ends with the hold, and this with work
			return ctx.Err()
		}
	})
}

func eachBranch(ctx context.Context, lock *rlock.Lock, kind string) error {
	held, unlock, err := lock.TryLock(ctx)
	if errors.Is(err, rlock.ErrBusy) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	switch kind {
	case "a":
		_ = work(held)
		return unlock()
	case "b":
		return errors.Join(work(held), unlock())
	case "c":
		panic("no such kind")
	default:
		log.Print(unlock())
	}
	return nil
}

// Either both are so, or none.
func both(ctx context.Context, lock *rlock.Lock, needed bool) (err error) {
	if needed {
		var unlock func() error
		ctx, unlock, err = lock.Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	return work(ctx)
}

// owner keeps what unlocks.
type owner struct {
	ctx    context.Context
	unlock func() error
	all    []func() error
	ended  chan func() error
}

func (o *owner) inFields(ctx context.Context, lock *rlock.Lock) (err error) {
	o.ctx, o.unlock, err = lock.Lock(ctx)
	return err
}

func (o *owner) inAList(ctx context.Context, locks ...*rlock.Lock) error {
	for _, lock := range locks {
		held, unlock, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		o.all = append(o.all, unlock)
		ctx = held
	}
	return work(ctx)
}

func (o *owner) inAChannel(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	o.ended <- unlock
	return work(held)
}

func (o *owner) toAnother(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	o.finish(held, unlock)
	return nil
}

func (o *owner) finish(ctx context.Context, unlock func() error) { log.Print(work(ctx), unlock()) }

func toTheCaller(ctx context.Context, lock *rlock.Lock) (held context.Context, unlock func() error, err error) {
	held, unlock, err = lock.Lock(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if err := work(held); err != nil {
		return ctx, nil, errors.Join(err, unlock())
	}
	return
}

// cleaner is what tests have.
type cleaner interface{ Cleanup(fn func()) }

func cleanup(ctx context.Context, lock *rlock.Lock, t cleaner) context.Context {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() { _ = unlock() })
	return held
}

func nestedHolds(ctx context.Context, a, b *rlock.Lock, rw *rwlock.Lock) (err error) {
	ctx, unlockA, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlockA()) }()
	ctx, unlockB, err := b.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlockB()) }()
	return rw.Read().Do(ctx, func(ctx context.Context) error {
		return a.Do(ctx, func(ctx context.Context) error { return work(ctx) })
	})
}

func independent(ctx context.Context, a, b *rlock.Lock) error {
	return a.Do(ctx, func(ctx context.Context) error {
		return errors.Join(work(ctx), b.Do(context.Background(), func(ctx context.Context) error { return work(ctx) }))
	})
}

func releases(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(work(held), unlock())
	last, cancel := context.WithTimeout(context.WithoutCancel(held), time.Second)
	defer cancel()
	return errors.Join(err, work(last), work(context.WithoutCancel(rlock.WithoutHolds(held))), context.Cause(held))
}

func survives(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		context.AfterFunc(held, func() { _ = work(ctx) })
		return errors.Join(work(held), work(last))
	})
}

func either(ctx context.Context, lock *rlock.Lock, changed <-chan int) error {
	return lock.Do(ctx, func(held context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-held.Done():
				return context.Cause(held)
			case <-time.After(time.Second):
				_ = work(held)
			}
		}
	})
}

func polls(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			default:
			}
			if err := work(held); err != nil {
				return err
			}
		}
	})
}

// Where the hold is known to have ended, the outer context is the right one.
func tellsOfTheLoss(ctx context.Context, lock *rlock.Lock, jobs <-chan int) error {
	return lock.Do(ctx, func(held context.Context) error {
		select {
		case <-held.Done():
			return work(ctx, context.Cause(held))
		case job := <-jobs:
			err := work(held, job)
			if errors.Is(err, rlock.ErrLost) {
				return errors.Join(err, work(ctx))
			}
			if held.Err() != nil {
				return work(ctx)
			}
			return err
		}
	})
}

func waitsForTheLoss(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		<-held.Done()
		return work(ctx)
	})
}

func breaks(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if work(held) != nil {
		return lock.Break(ctx)
	}
	return unlock()
}

func term(ctx context.Context, e *leader.Election) (err error) {
	term, resign, err := e.Campaign(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resign()) }()
	return errors.Join(work(term), e.Proclaim(term, "here"))
}

func terms(ctx context.Context, e *leader.Election) error {
	return e.Run(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return work(ctx)
	})
}

func retries(ctx context.Context, lock *rlock.Lock) (err error) {
	var held context.Context
	var unlock func() error
	for range 3 {
		if held, unlock, err = lock.TryLock(ctx); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return work(held)
}

func everyRound(ctx context.Context, lock *rlock.Lock) error {
	for {
		held, unlock, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		err = work(held)
		if err := errors.Join(err, unlock()); err != nil {
			return err
		}
		if err := work(ctx); err != nil {
			return err
		}
	}
}

// A function that was made before unlocks.
func madeBefore(ctx context.Context, lock *rlock.Lock) (err error) {
	var unlock func() error
	defer func() {
		if unlock != nil {
			err = errors.Join(err, unlock())
		}
	}()
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	return work(held)
}

func remembered(ctx context.Context, lock *rlock.Lock) (err error) {
	held, unlock, err := lock.TryLock(ctx)
	locked := err == nil
	if locked {
		defer func() { err = errors.Join(err, unlock()) }()
	} else {
		held = ctx
	}
	return work(held)
}

func namedLater(ctx context.Context, lock *rlock.Lock) error {
	var held, unlock, err = lock.Lock(ctx)
	if err != nil || held.Err() != nil {
		return errors.Join(err, unlock())
	}
	if err == nil && work(held) == nil {
		return unlock()
	}
	return unlock()
}

// until the lease ends: the package says so with a name.
func left(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.TryLock(ctx)
	if err != nil {
		return err
	}
	_ = unlock // the hold ends with the client
	return work(held)
}

func closes(ctx context.Context, client *rlock.Client) error {
	defer client.Close()
	held, _, err := rlock.New(client, "a").Lock(ctx)
	if err != nil {
		return err
	}
	return work(held)
}

func exports(ctx context.Context, lock *rlock.Lock) (string, error) {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return "", err
	}
	if err := work(held); err != nil {
		return "", errors.Join(err, unlock())
	}
	return lock.Export(held)
}

// logger is an application's own.
type logger struct{}

func (logger) Warn(context.Context, string)        {}
func tenantFromContext(ctx context.Context) string { return "" }

func logs(ctx context.Context, lock *rlock.Lock, l logger) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		l.Warn(held, "busy")
		return err
	}
	l.Warn(ctx, tenantFromContext(ctx))
	err = errors.Join(work(held), unlock())
	l.Warn(held, "done")
	return err
}
