package seeds

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

func takenAsAStatement(ctx context.Context, lock *rlock.Lock) error {
	lock.Lock(ctx) // want `all that Lock returned is thrown away: nothing can unlock, or see whether it is held`
	return work(ctx)
}

func takenByADefer(ctx context.Context, lock *rlock.Lock) error {
	defer lock.Lock(ctx) // want `all that Lock returned is thrown away`
	return work(ctx)
}

func campaignAsAStatement(ctx context.Context, e *leader.Election) error {
	e.Campaign(ctx) // want `all that Campaign returned is thrown away`
	return work(ctx)
}

func unlockThrownAway(ctx context.Context, lock *rlock.Lock) error {
	held, _, err := lock.Lock(ctx) // want `what unlocks is thrown away: the lock stays held until the client is closed`
	if err != nil {
		return err
	}
	return work(held)
}

func onlyTheErrorIsKept(ctx context.Context, lock *rlock.Lock) error {
	if _, _, err := lock.TryLock(ctx); err != nil { // want `what unlocks is thrown away`
		return err
	}
	return work(ctx)
}

func resignThrownAway(ctx context.Context, e *leader.Election) error {
	term, _, err := e.Campaign(ctx) // want `what unlocks is thrown away`
	if err != nil {
		return err
	}
	return work(term)
}

func earlyReturn(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := work(held); err != nil {
		return err // want `unlock is not called on this way out: the lock stays held until the client is closed`
	}
	return unlock()
}

func deferredTooLate(ctx context.Context, lock *rlock.Lock) (err error) {
	ctx, unlock, err := lock.Lock(ctx)
	if errors.Is(err, rlock.ErrBusy) {
		return nil
	} else if err != nil {
		return err
	}
	if ctx.Value("skip") != nil {
		return nil // want `unlock is not called on this way out`
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return work(ctx)
}

func oneBranch(ctx context.Context, lock *rlock.Lock, dry bool) {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return
	}
	if !dry {
		_ = errors.Join(work(held), unlock())
	}
} // want `unlock is not called on this way out`

func oneCase(ctx context.Context, lock *rlock.Lock, kind string) error {
	held, unlock, err := lock.TryLock(ctx)
	switch {
	case err != nil:
		return err
	case kind == "none":
		return nil // want `unlock is not called on this way out`
	}
	return errors.Join(work(held), unlock())
}

func nextRound(ctx context.Context, locks []*rlock.Lock) error {
	for _, lock := range locks {
		held, unlock, err := lock.Lock(ctx) // want `unlock is not called on this way to the next Lock`
		if err != nil {
			return err
		}
		if work(held) != nil {
			continue
		}
		if err := unlock(); err != nil {
			return err
		}
	}
	return nil
}

func resignOnOneWay(ctx context.Context, e *leader.Election) error {
	term, resign, err := e.Campaign(ctx)
	if err != nil {
		return err
	}
	if work(term) != nil {
		return errors.New("work") // want `resign is not called on this way out`
	}
	return resign()
}
