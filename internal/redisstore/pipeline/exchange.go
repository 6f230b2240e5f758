package pipeline

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// exchange sends calls and answers all of them. It takes as long as one command may, whatever the calls have: a caller
// with less time leaves, and neither the others nor the connection suffer from it.
func (p *Pipe) exchange(calls []*call) {
	cmds, requests := make([]redis.Cmder, len(calls)), make([]context.Context, len(calls))
	for i, c := range calls {
		cmds[i], requests[i] = c.cmd, c.ctx
	}
	failure := p.send(links.Together(requests, p.cfg.Limit), cmds)
	for _, c := range calls {
		c.end(outcome(c.cmd, failure))
	}
}

var errNoAnswer = errors.New("the exchange ended without an answer")

// outcome is the error of one command of an exchange that ended with failure. A command without an answer must not get
// what the server told another one: a refusal says that nothing was written.
func outcome(cmd redis.Cmder, failure error) error {
	if err := cmd.Err(); err != nil || answered(cmd) {
		return err
	}
	if refusal := redis.Error(nil); failure == nil || errors.As(failure, &refusal) {
		return errNoAnswer
	}
	return failure
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

// send sends commands and reads their replies, in bundles where possible. Its error is that of commands without an
// answer.
func (p *Pipe) send(ctx context.Context, cmds []redis.Cmder) error {
	switch {
	case len(cmds) == 1:
		return p.cfg.Client.Process(ctx, cmds[0])
	case p.cfg.OneSlot.Load():
		return p.pipeline(ctx, cmds)
	}
	return p.bundles(ctx, cmds)
}

// bundles sends commands in bundles.
//
// Up to three round trips follow one another: the bundles, those whose script the server did not know, and the
// single calls that a bundle could not answer. None of them repeats a call that may have been carried out.
func (p *Pipe) bundles(ctx context.Context, cmds []redis.Cmder) (failure error) {
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
			p.cfg.OneSlot.Store(true)
		}
	}
	return failure
}

// pipeline sends commands in one write.
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
