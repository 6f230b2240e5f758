package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// young asks for the lock at once, and again until it gets the lock.
func (d *demo) young(ctx context.Context) error {
	_, _, err := d.lock.TryLock(ctx)
	if err := d.check(errors.Is(err, redlock.ErrRestarted) && errors.Is(err, rlock.ErrUnavailable),
		"a first try comes to no quorum (%v)", redlock.ErrRestarted); err != nil {
		return err
	}
	for {
		if err := d.turn(ctx, d.lock); err == nil {
			d.say("now they have been up for longer than a lease, and vote")
			return nil
		} else if ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, lease/20); err != nil {
			return err
		}
	}
}

// turn locks and unlocks.
func (d *demo) turn(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(ctx context.Context) error { return d.note(ctx, lock) })
}

// take takes the lock, for several steps.
func (d *demo) take(ctx context.Context) error {
	held, unlock, err := d.lock.Lock(ctx)
	if err != nil {
		return err
	}
	d.held, d.unlock = held, unlock
	if err := d.note(held, d.lock); err != nil {
		return err
	}
	return d.standsOn(ctx, 1, 2, 3, 4, 5)
}

// freeze stops a server, and checks that the hold goes on.
func (d *demo) freeze(ctx context.Context) error {
	if err := d.nodes[4].freeze(); err != nil {
		return err
	}
	const rounds = 200
	side := redlock.New(d.client, name+":other")
	start := time.Now()
	for range rounds {
		if err := side.Do(ctx, func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
	each := time.Since(start) / rounds
	if err := d.check(each < 20*time.Millisecond, "another lock, taken and released %d times: %v each", rounds,
		each.Round(time.Microsecond)); err != nil {
		return err
	}
	return d.stillHeld(ctx, 2)
}

// restart kills a server, and starts it again without its data.
func (d *demo) restart(ctx context.Context) error {
	if err := d.nodes[0].kill(); err != nil {
		return err
	}
	d.say("node 1 is gone, three of five are left")
	if err := d.nodes[0].start(ctx); err != nil {
		return err
	}
	keys, err := d.nodes[0].rdb.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	if err := d.check(keys == 0, "node 1 is back, with %d keys", keys); err != nil {
		return err
	}
	_, _, err = d.rival.TryLock(ctx)
	if err := d.check(errors.Is(err, rlock.ErrBusy), "a second client: %v", err); err != nil {
		return err
	}
	return d.stillHeld(ctx, 1)
}

// heal waits until all nodes have the lock again, and unlocks it.
func (d *demo) heal(ctx context.Context) error {
	if err := d.nodes[4].thaw(); err != nil {
		return err
	}
	d.say("node 5 runs again; node 1 has its vote back when it has been up for a lease")
	if err := d.standsOn(ctx, 1, 2, 3, 4, 5); err != nil {
		return err
	}
	if err := d.nodes[1].kill(); err != nil {
		return err
	}
	if err := d.nodes[2].kill(); err != nil {
		return err
	}
	d.say("nodes 2 and 3, which had it from the beginning, are killed")
	if err := d.stillHeld(ctx, 2); err != nil {
		return err
	}
	if err := d.unlock(); err != nil {
		return err
	}
	d.say("unlocked")
	return d.turn(ctx, d.rival)
}

func (d *demo) fencing(context.Context) error {
	growing := len(d.fences) > 2
	for i := 1; i < len(d.fences); i++ {
		growing = growing && d.fences[i] > d.fences[i-1]
	}
	return d.check(growing, "%d holds, %d < ... < %d", len(d.fences), d.fences[0], d.fences[len(d.fences)-1])
}

// note remembers the token of the hold that ctx carries.
func (d *demo) note(ctx context.Context, lock *rlock.Lock) error {
	hold, err := lock.Held(ctx)
	d.fences = append(d.fences, hold.Fence)
	return err
}

// stillHeld waits for renewals, and checks the hold.
func (d *demo) stillHeld(ctx context.Context, renewals int64) error {
	for until := d.renewals.Load() + renewals; d.renewals.Load() < until; {
		if err := sleep(ctx, lease/60); err != nil {
			return err
		}
		if d.held.Err() != nil {
			return context.Cause(d.held)
		}
	}
	hold, err := d.lock.Held(d.held)
	if err != nil {
		return err
	}
	left := time.Until(hold.ValidUntil)
	return d.check(left > 0, "held and renewed; valid for another %v", left.Round(time.Millisecond))
}

// standsOn waits until exactly these nodes have the lock, and prints so.
func (d *demo) standsOn(ctx context.Context, want ...int) error {
	for {
		var at []int
		for _, n := range d.nodes {
			if n.running() && n.rdb.Exists(ctx, name).Val() == 1 {
				at = append(at, n.number)
			}
		}
		if fmt.Sprint(at) == fmt.Sprint(want) {
			return d.check(true, "it stands on nodes %v", at)
		}
		if err := sleep(ctx, lease/60); err != nil {
			return d.check(false, "it stands on nodes %v, not on %v", at, want)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
