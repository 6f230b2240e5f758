package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lua"
)

// letter is one command that gathers.
type letter struct {
	ctx  context.Context
	cmd  redis.Cmder
	done chan struct{} // closed when it was answered
	sent bool          // or is about to be
	err  error         // set before done
}

// await waits for a letter's answer, or until its sender leaves.
func (p *Pipe) await(l *letter) error {
	if l.ctx.Done() == nil {
		<-l.done // bounded: what is under way has deadlines
		return l.err
	}
	select {
	case <-l.done:
		return l.err
	case <-l.ctx.Done():
	case <-p.ending:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.sent {
		return &Left{Settled: l.done}
	}
	l.cmd = nil // it is passed over
	return ErrUnsent
}

// send sends a pipeline of letters and tells everybody.
func (p *Pipe) send(with []*letter) {
	var ctx context.Context = earliest{Context: context.Background()}
	var cmds []redis.Cmder
	for _, l := range p.take(with) {
		ctx = ctx.(earliest).and(l.ctx)
		cmds = append(cmds, l.cmd)
	}
	failure := p.exchange(ctx, cmds)
	for _, l := range with {
		if l.cmd == nil {
			continue
		}
		if l.err == nil {
			l.err = l.cmd.Err()
		}
		if l.err == nil && !answered(l.cmd) {
			l.err = failure // it never came to be sent
		}
		close(l.done)
	}
}

// exchange has commands carried out, in bundles where that can be.
func (p *Pipe) exchange(ctx context.Context, cmds []redis.Cmder) (failure error) {
	if !p.cfg.Bundle {
		return p.pipeline(ctx, cmds)
	}
	bundles, rest := lua.Bundles(ctx, cmds)
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
	return errors.Join(failure, p.pipeline(ctx, again))
}

// pipeline sends commands in one write. Its error is that of those that came not to be sent.
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

// take makes letters ones that are under way, and returns those that are to be sent.
func (p *Pipe) take(with []*letter) []*letter {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range with {
		if l.cmd != nil {
			l.sent, l.err = true, over(l.ctx, now)
		}
	}
	return slices.DeleteFunc(slices.Clone(with), func(l *letter) bool { return l.cmd == nil || l.err != nil })
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

// earliest is a context with the earliest of some deadlines. It is not ended by those that they are of: once
// a pipeline is on its way, it is everybody's.
type earliest struct {
	context.Context
	at time.Time
}

func (e earliest) Deadline() (time.Time, bool) { return e.at, !e.at.IsZero() }

func (e earliest) and(ctx context.Context) earliest {
	if at, ok := ctx.Deadline(); ok && (e.at.IsZero() || at.Before(e.at)) {
		e.at = at
	}
	return e
}
