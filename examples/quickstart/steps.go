package main

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

// nested locks three deep with the context of the level before, and reads the count in Redis.
func (d *demo) nested(ctx context.Context) error { return d.deeper(ctx, 1) }

func (d *demo) deeper(ctx context.Context, depth int) (err error) {
	held, unlock, err := d.lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = rlock.Join(err, unlock()) }()
	hold, err := d.lock.Held(held)
	if err != nil {
		return err
	}
	if depth == 1 {
		d.fences = append(d.fences, hold.Fence)
		defer func() { d.say("unlocked level by level") }()
	}
	count, err := d.counted(held, hold.ID, depth)
	if err != nil {
		return err
	}
	if err := d.check(count == depth, "level %d, and Redis counts %d", depth, count); err != nil {
		return err
	}
	if depth == 3 {
		return nil
	}
	return d.deeper(held, depth+1)
}

// renewal holds for more than two leases.
func (d *demo) renewal(ctx context.Context) error {
	before := d.renewals.Load()
	return d.lock.Do(ctx, func(ctx context.Context) error {
		if err := d.note(ctx); err != nil {
			return err
		}
		const span = 2*lease + lease/4
		select {
		case <-time.After(span):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		ttl, err := d.redis.rdb.PTTL(ctx, d.name).Result()
		if err != nil {
			return err
		}
		renewals := d.renewals.Load() - before
		return d.check(ttl > 0 && renewals > 0,
			"held for %v; renewed %d times; Redis would keep it another %v", span, renewals, ttl)
	})
}

// waits makes another client wait for the lock and measures how long it takes to get it.
func (d *demo) waits(ctx context.Context) (err error) {
	other, err := rlock.NewClient(d.redis.rdb, options(nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	held, unlock, err := d.lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := d.note(held); err != nil {
		return errors.Join(err, unlock())
	}
	type turn struct {
		at    time.Time
		fence int64
		err   error
	}
	came := make(chan turn, 1)
	theirs := rlock.New(other, d.name)
	go func() {
		err := theirs.Do(ctx, func(ctx context.Context) error {
			hold, err := theirs.Held(ctx)
			came <- turn{at: time.Now(), fence: hold.Fence, err: err}
			return err
		})
		if err != nil {
			came <- turn{err: err}
		}
	}()
	if err := d.untilSomebodyWaits(held); err != nil {
		return errors.Join(err, unlock())
	}
	d.say("the second client waits")
	released := time.Now()
	if err := unlock(); err != nil {
		return err
	}
	got := <-came
	if got.err != nil {
		return got.err
	}
	d.fences = append(d.fences, got.fence)
	after := got.at.Sub(released)
	return d.check(after < lease, "it has the lock %s after unlock was called", ms(after))
}

func (d *demo) untilSomebodyWaits(ctx context.Context) error {
	for {
		info, err := d.lock.Inspect(ctx)
		if err != nil || info.Waiters > 0 {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// loss deletes the key of one hold, and checks that hold and another one of the same client.
func (d *demo) loss(ctx context.Context) (err error) {
	bystander := rlock.New(d.client, d.name+":bystander")
	calm, unlockCalm, err := bystander.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlockCalm()) }()
	held, unlock, err := d.lock.Lock(calm)
	if err != nil {
		return err
	}
	if err := d.note(held); err != nil {
		return errors.Join(err, unlock())
	}
	deleted := time.Now()
	if err := d.redis.rdb.Del(context.WithoutCancel(calm), d.name).Err(); err != nil {
		return errors.Join(err, unlock())
	}
	d.say("the key is deleted behind the holder's back")
	select {
	case <-held.Done():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), unlock())
	}
	var lost *rlock.LostError
	cause := context.Cause(held)
	if err := d.check(errors.As(cause, &lost) && lost.Reason == rlock.LossGone,
		"its context ended %s later: %v", ms(time.Since(deleted)), cause); err != nil {
		return errors.Join(err, unlock())
	}
	err = unlock()
	if err := d.check(errors.Is(err, rlock.ErrLost), "and unlock reports it too"); err != nil {
		return err
	}
	_, err = bystander.Held(calm)
	return d.check(err == nil && calm.Err() == nil, "another hold of this client is undisturbed")
}

// killed starts a process that holds the lock, kills it, and waits for the lock.
func (d *demo) killed(ctx context.Context) error {
	holder, fence, err := d.startHolder(ctx)
	if err != nil {
		return err
	}
	d.fences = append(d.fences, fence)
	d.say("process %d holds the lock", holder.Process.Pid)
	if err := holder.Process.Kill(); err != nil {
		return err
	}
	_ = holder.Wait() // it was killed, as intended
	killed := time.Now()
	d.say("it is killed with SIGKILL")
	return d.lock.Do(ctx, func(ctx context.Context) error {
		after := time.Since(killed)
		if err := d.note(ctx); err != nil {
			return err
		}
		// A waiter asks again when the lease that it saw has ended; the slack is for a busy machine.
		return d.check(after < 2*lease, "the lock is free again %s later; the lease is %v",
			ms(after), lease)
	})
}

// fencing checks the tokens of all holds so far.
func (d *demo) fencing(context.Context) error {
	growing := len(d.fences) > 1
	for i := 1; i < len(d.fences); i++ {
		growing = growing && d.fences[i] > d.fences[i-1]
	}
	return d.check(growing, "%d holds, %d < ... < %d", len(d.fences), d.fences[0],
		d.fences[len(d.fences)-1])
}

// note remembers the token of the hold that ctx carries.
func (d *demo) note(ctx context.Context) error {
	hold, err := d.lock.Held(ctx)
	d.fences = append(d.fences, hold.Fence)
	return err
}

// counted returns the number of levels in Redis. A nested Lock waits for nothing: the count follows some milliseconds
// later.
func (d *demo) counted(ctx context.Context, id string, depth int) (count int, err error) {
	for range 100 {
		if count, err = d.redis.rdb.HGet(ctx, d.name, id).Int(); err != nil || count == depth {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return count, context.Cause(ctx)
		}
	}
	return count, err
}
