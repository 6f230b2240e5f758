package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// command is a command that waits to be sent with others.
//
// Three goroutines can decide its outcome: the sender of its pipeline, the timer of that pipeline, and the
// caller that leaves. The first two compete for settled; the winner alone writes err and closes done, so
// whoever has received from done reads err safely. The caller decides under Pipe.mu, by sent: it either takes
// the command out before it is sent, or accepts that it is under way.
type command struct {
	ctx   context.Context
	at    time.Time // its deadline, if it has one
	short bool      // its deadline is sooner than most
	node  *node
	done  chan struct{} // closed when it was answered, or its deadline has passed
	err   error         // set before done

	settled atomic.Bool // somebody sets err and closes done

	// Guarded by Pipe.mu until the command is sent.
	cmd  redis.Cmder // nil: its sender has left
	sent bool        // or is about to be
}

// If the timer wins against a reply that arrives at the same time, the caller gets DeadlineExceeded for a
// command that was carried out. That is no new case: the reply could have been lost as well.
func (l *command) settle(err error) {
	if l.settled.CompareAndSwap(false, true) {
		l.err = err
		close(l.done)
	}
}

// await waits for a command's answer, or until its sender leaves. A short command watches its deadline itself:
// the commands before it may have more time.
//
// The check under mu settles the race with Pipe.take, which sets sent under the same mutex. If await comes
// first, take skips the command, and ErrUnsent and ErrLate are true. If take comes first, the command may be
// carried out, and the caller gets Left (or DeadlineExceeded), never ErrUnsent. A command that was answered
// meanwhile also counts as sent: its reply is not looked at, and Settled is closed already.
func (p *Pipe) await(l *command) error {
	ending, over := p.ending, (<-chan time.Time)(nil)
	late := !links.MayLeave(l.ctx) // if it leaves, its time is over
	if late {
		if ending = nil; !l.short && l.ctx.Done() == nil {
			<-l.done // bounded: commands under way have deadlines
			return l.err
		}
	}
	if l.short {
		timer := time.NewTimer(time.Until(l.at))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-l.done:
		return l.err
	case <-over:
		late = late || l.ctx.Err() == nil
	case <-l.ctx.Done():
	case <-ending:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case l.sent && late:
		return context.DeadlineExceeded
	case l.sent:
		return &store.Left{Settled: l.done}
	}
	l.cmd = nil // it will be skipped
	l.node.absent++
	if late {
		return store.ErrLate
	}
	return store.ErrUnsent
}

// send sends commands in one pipeline and settles all of them. It returns how many were sent, and whether there
// was an answer.
func (p *Pipe) send(n *node, with []*command) (size int, answer bool) {
	live, patience := p.take(n, with)
	if len(live) == 0 {
		return 0, false
	}
	cmds := make([]redis.Cmder, 0, len(live))
	for _, l := range live {
		cmds = append(cmds, l.cmd)
	}
	ctx := links.Within(context.Background(), patience)
	stop := expire(live)
	failure := p.exchange(ctx, cmds)
	stop()
	for _, l := range live {
		err := l.cmd.Err()
		if err == nil && !answered(l.cmd) {
			err = failure // it was never sent
		}
		answer = answer || replied(err)
		l.settle(err)
	}
	return len(live), answer
}

// expire settles commands under way when their deadlines pass. The pipeline goes on: it is shared, and other
// commands may have more time.
//
// The function of the timer may still run when stop returns, and may even start the timer once more. By then
// every command is settled, so it changes nothing, and with the last deadline it ends. The channel makes sure
// that it does not use the variable timer before AfterFunc has returned it.
func expire(live []*command) (stop func()) {
	next := nextDeadline(live, time.Now())
	if next == 0 {
		return func() {}
	}
	var timer *time.Timer
	ready := make(chan struct{}) // timer is set
	timer = time.AfterFunc(next, func() {
		<-ready
		now := time.Now()
		for _, l := range live {
			if !l.at.IsZero() && !now.Before(l.at) {
				l.settle(context.DeadlineExceeded)
			}
		}
		if next := nextDeadline(live, now); next > 0 {
			timer.Reset(max(next, time.Millisecond))
		}
	})
	close(ready)
	return func() { timer.Stop() }
}

// nextDeadline is the time left until the first deadline that has not passed; 0 if there is none.
func nextDeadline(live []*command, now time.Time) (next time.Duration) {
	for _, l := range live {
		if l.at.IsZero() || !now.Before(l.at) {
			continue
		}
		if left := l.at.Sub(now); next == 0 || left < next {
			next = left
		}
	}
	return next
}

// replied reports that the server answered, even with an error.
func replied(err error) bool {
	return err == nil || refused(err) // which makes a variable
}

func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// exchange sends commands and reads their replies, in bundles where possible.
//
// Up to three round trips follow one another: the bundles, those whose script the server did not know, and the
// single calls that a bundle could not answer. None of them repeats a call that may have been carried out.
func (p *Pipe) exchange(ctx context.Context, cmds []redis.Cmder) (failure error) {
	if !p.cfg.Bundle || p.apart.Load() {
		return p.pipeline(ctx, cmds)
	}
	bundles, rest := luacall.Bundles(ctx, cmds)
	for _, b := range bundles {
		rest = append(rest, b.Cmd())
	}
	failure = p.pipeline(ctx, rest)
	var again []redis.Cmder
	for _, b := range bundles {
		if b.Unknown(ctx) {
			again = append(again, b.Cmd())
		}
	}
	failure = errors.Join(failure, p.pipeline(ctx, again))
	again = nil
	for _, b := range bundles {
		again = append(again, b.Deal(failure)...)
	}
	failure = errors.Join(failure, p.pipeline(ctx, again))
	for _, b := range bundles {
		if b.Unfit() {
			p.apart.Store(true)
		}
	}
	return failure
}

// pipeline sends commands in one write. Its error is that of commands that were never sent.
func (p *Pipe) pipeline(ctx context.Context, cmds []redis.Cmder) error {
	if len(cmds) == 0 {
		return nil
	}
	pipe := p.cfg.Client.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd) // only queues
	}
	_, err := pipe.Exec(ctx)
	return err
}

// take marks commands as under way, and returns those to send and how long they have: the time of the one that
// has most, but no less than the round trip takes.
func (p *Pipe) take(n *node, with []*command) (live []*command, patience time.Duration) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	patience = n.patience()
	live = slices.DeleteFunc(slices.Clone(with), func(l *command) bool {
		switch err := over(l.ctx, l.at, now); {
		case l.cmd == nil:
			return true
		case errors.Is(err, store.ErrLate):
			l.settle(err)
			return true
		case err != nil:
			l.settle(store.ErrUnsent)
			return true
		}
		l.sent = true
		if l.at.IsZero() {
			patience = max(patience, p.cfg.Limit)
		} else {
			patience = max(patience, l.at.Sub(now))
		}
		return false
	})
	return live, patience
}

// answered reports that a command has a value.
func answered(cmd redis.Cmder) bool {
	switch c := cmd.(type) {
	case interface{ Val() any }:
		return c.Val() != nil
	case interface{ Val() []int64 }:
		return c.Val() != nil
	}
	return true
}
