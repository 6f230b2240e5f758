package pipeline

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Client sends the commands.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Config configures a Pipe.
type Config struct {
	Client Client
	Shard  func(key string) string // names the node that serves a key
	Serves func(node string) bool  // reports that a node still serves keys, and does not wait; nil: all do
	// OneSlot says that the keys of a script must be in one slot. It becomes true when anybody learns that: then the
	// server gets no more bundles.
	OneSlot *atomic.Bool
	Limit   time.Duration // of every exchange, and the longest of a call
}

// Pipe sends calls. Its methods are safe for concurrent use.
//
// No mutex is held during an exchange. Of two, that of a node comes after the Pipe's.
type Pipe struct {
	cfg     Config
	working sync.WaitGroup // the workers of all nodes
	ending  chan struct{}  // closed when every caller that may leave must do so

	// Calls that were answered, for later ones: with its channel and its timer, a call is a fifth of what a lock
	// allocates. They are the Pipe's own, since a timer belongs to the bubble of testing/synctest that made it.
	spare sync.Pool

	mu    sync.Mutex // guards all below
	nodes map[string]*node
	over  bool // Join was called
}

// New returns a Pipe.
func New(cfg Config) *Pipe {
	p := &Pipe{cfg: cfg, ending: make(chan struct{}), nodes: make(map[string]*node)}
	p.spare.New = func() any { return newCall() }
	return p
}

// Process sends an EVALSHA or EVAL, whose argument number 3 is the key, and waits for the reply until the context's
// deadline. If the context is cancelled, Process returns at once.
//
// After an error the caller must not look at the command: an exchange may still be writing to it.
func (p *Pipe) Process(ctx context.Context, cmd redis.Cmder) error {
	c := p.call(ctx, cmd)
	if why := c.pointless(time.Now()); why != nil {
		return why
	}
	for {
		n := p.node(p.cfg.Shard(key(cmd)))
		switch {
		case n == nil:
			return store.ErrUnsent
		case n.add(c, p.work):
			return p.await(c)
		} // it has ended in between, and is not found any more
	}
}

// call makes a call, of a spare one if there is any.
func (p *Pipe) call(ctx context.Context, cmd redis.Cmder) *call {
	limit, ok := ctx.Deadline()
	if !ok {
		limit = time.Now().Add(p.cfg.Limit)
	}
	c := p.spare.Get().(*call)
	c.ctx, c.done, c.cmd, c.size, c.limit = ctx, ctx.Done(), cmd, size(cmd), limit
	return c
}

// free is for the caller that has received the answer. The worker sends that last of all and knows the call no more,
// so it can be another's. A call that was left is never freed.
func (p *Pipe) free(c *call) (answer error) {
	c.timer.Stop()
	answer = c.err
	c.ctx, c.done, c.cmd, c.err = nil, nil, nil, nil
	c.state.Store(queued)
	p.spare.Put(c)
	return answer
}

// await waits for the answer of a call, or until its caller leaves.
//
// A caller whose context cannot end stays when the owner ends: it releases something, and has its limit. The limit
// moves while a connection is being made for the exchange that the call is part of (see [links.Together]).
func (p *Pipe) await(c *call) error {
	ending := p.ending
	if c.done == nil {
		ending = nil
	}
	limit := c.limit
	c.timer.Reset(time.Until(limit))
	for {
		select {
		case <-c.answered:
			return p.free(c)
		case <-c.done:
			return c.leave(limit)
		case <-ending:
			return c.leave(limit)
		case <-c.timer.C:
			moved, ok := c.ctx.Deadline()
			if !ok || !moved.After(limit) {
				return c.expire()
			}
			limit = moved
			c.timer.Reset(time.Until(limit))
		}
	}
}

// node returns the node of that name; nil after Join. When it is new, those end that serve nothing any more.
func (p *Pipe) node(name string) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	n := p.nodes[name]
	if n == nil {
		p.endGoneLocked()
		n = newNode()
		p.nodes[name] = n
	}
	return n
}

// endGoneLocked ends the nodes that serve nothing any more, under the mutex: once Join has it, no node is left that it
// does not find, and that could start a worker.
func (p *Pipe) endGoneLocked() {
	maps.DeleteFunc(p.nodes, func(name string, n *node) bool {
		if p.cfg.Serves == nil || p.cfg.Serves(name) {
			return false
		}
		n.end()
		return true
	})
}

// work starts a worker: it carries out exchanges with a node until there is nothing more to do, ever.
func (p *Pipe) work(n *node) {
	p.working.Go(func() {
		calls, x := make([]*call, 0, most), new(exchange)
		for {
			if calls = n.take(calls[:0]); len(calls) == 0 {
				return
			}
			x.calls = calls
			x = x.spent(p.exchange(n, x))
			clear(calls)
		}
	})
}

// End makes every caller leave whose context can be cancelled, as if it were. It must be called once.
func (p *Pipe) End() { close(p.ending) }

// Join waits until no goroutine of the Pipe is left. What has gathered is still sent, and nothing that comes later.
func (p *Pipe) Join() {
	for _, n := range p.close() {
		n.end()
	}
	p.working.Wait()
}

func (p *Pipe) close() map[string]*node {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	return p.nodes
}

func key(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 4 {
		return ""
	}
	name, _ := args[3].(string)
	return name
}

// exchange sends the calls of x and answers all of them. It takes as long as one command may, whatever the calls have:
// a caller with less time leaves, and neither the others nor the connection suffer from it.
func (p *Pipe) exchange(n *node, x *exchange) (failure error) {
	began := time.Now()
	failure = p.carry(n, x)
	if x.again() && len(x.calls) > 0 { // others left while the connection was being made
		for _, c := range x.calls {
			c.cmd.SetErr(nil)
		}
		began = time.Now()
		failure = p.carry(n, x)
	}
	n.answered(time.Since(began), failure)
	for i, c := range x.calls {
		c.end(outcome(x.cmds[i], failure))
	}
	return failure
}

// carry sends what an exchange carries.
func (p *Pipe) carry(n *node, x *exchange) error {
	requests := x.requests()
	return p.send(links.Together(requests, n.patience(p.cfg.Limit), p.cfg.Limit), x, x.commands())
}

var errNoAnswer = errors.New("the exchange ended without an answer")

// outcome is the error of one command of an exchange that ended with failure. A command without an answer must not get
// what the server told another one: a refusal says that nothing was written.
func outcome(cmd redis.Cmder, failure error) error {
	if err := cmd.Err(); err != nil || answered(cmd) {
		return err
	}
	if _, refused := errors.AsType[redis.Error](failure); failure == nil || refused {
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
func (p *Pipe) send(ctx context.Context, x *exchange, cmds []redis.Cmder) error {
	switch {
	case len(cmds) == 1:
		return p.cfg.Client.Process(ctx, x.sends(cmds[0]))
	case p.cfg.OneSlot.Load():
		return p.pipeline(ctx, x, cmds)
	}
	return p.bundles(ctx, x, cmds)
}

// bundles sends commands in bundles.
//
// Up to three round trips follow one another: the bundles, those whose script the server did not know, and the
// single calls that a bundle could not answer. None of them repeats a call that may have been carried out.
func (p *Pipe) bundles(ctx context.Context, x *exchange, cmds []redis.Cmder) (failure error) {
	bundles, rest := luacall.Bundles(ctx, cmds)
	for _, b := range bundles {
		rest = append(rest, b.Cmd())
	}
	failure = p.pipeline(ctx, x, rest)
	if x.isVoid() {
		return failure
	}
	var again []redis.Cmder
	for _, b := range bundles {
		if b.Unknown(ctx) {
			again = append(again, b.Cmd())
		}
	}
	failure = errors.Join(failure, p.pipeline(ctx, x, again))
	again = nil
	for _, b := range bundles {
		again = append(again, b.Deal(failure)...)
	}
	failure = errors.Join(failure, p.pipeline(ctx, x, again))
	for _, b := range bundles {
		if b.Unfit() {
			p.cfg.OneSlot.Store(true)
		}
	}
	return failure
}

// pipeline sends commands in one write.
func (p *Pipe) pipeline(ctx context.Context, x *exchange, cmds []redis.Cmder) error {
	if len(cmds) == 0 {
		return nil
	}
	pipe := p.cfg.Client.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, x.sends(cmd)) // only queues
	}
	_, err := pipe.Exec(ctx)
	return err
}
