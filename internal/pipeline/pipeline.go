// Package pipeline lets commands that many goroutines send at one time share round trips.
//
// A command that is alone goes out as it is, at once. While some are under way to a node, further ones gather,
// and whoever comes back first sees to it that all of them follow in one pipeline. So nobody waits for
// company, and the more there is to do, the fewer the writes and reads that it takes: at a thousand commands
// at once, both client and server otherwise spend most of their time on system calls.
//
// # Why it is safe
//
// Each command keeps its own reply and its own error. If the connection breaks in the middle, every command
// that had no reply yet gets the error, and whoever sent it treats it as before: as one that may have been
// carried out. Nothing is sent twice. Pipelines get shorter when they take long, down to single commands, so
// that a slow server is not given more than it can answer in time. A command whose context ended before its pipeline was made is not sent.
// A pipeline has the earliest deadline of its commands, so none waits for longer than it would alone; those of
// other nodes are sent apart, so a node that hangs delays nobody else's.
package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lanes is how many commands, or pipelines, are under way to one node before more gather. With fewer
	// the connection is idle while replies are read; with more there is less to gather.
	lanes = 3
	// alone is how many are if each takes so long that they go out one by one.
	alone = 16

	first = 16  // commands in one pipeline, until it is known how long they take
	most  = 128 // at any time

	// A pipeline that took longer than slow was too long, since its last command has to be answered within
	// the time limit of a single one; after one that was quick the next may be twice as long.
	slow  = 200 * time.Millisecond
	quick = 20 * time.Millisecond
)

// Client is what commands are sent with.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Pipe sends commands. Its methods are safe for concurrent use.
type Pipe struct {
	client Client
	shard  func(key string) string

	mu    sync.Mutex // guards nodes and all in them
	nodes map[string]*node
}

// node is what is under way to one node, and what gathers for it.
type node struct {
	most  int // commands in the next pipeline
	busy  int
	queue []*letter
}

// letter is one command that gathers.
type letter struct {
	ctx  context.Context
	cmd  redis.Cmder
	done chan struct{} // closed when it was answered, or its sender is to send the pipeline it heads
	with []*letter     // set before done: the pipeline that its sender is to send
}

// New returns a Pipe over client. Shard names the node that serves a key.
func New(client Client, shard func(key string) string) *Pipe {
	return &Pipe{client: client, shard: shard, nodes: make(map[string]*node)}
}

// Process sends a command of which argument number 3 is the key, as of EVALSHA, and waits for the reply.
func (p *Pipe) Process(ctx context.Context, cmd redis.Cmder) error {
	if err := over(ctx); err != nil {
		cmd.SetErr(err) // go-redis might dial first, which takes longer
		return err
	}
	shard := p.shard(key(cmd))
	p.mu.Lock()
	n := p.nodes[shard]
	if n == nil {
		n = &node{most: first}
		p.nodes[shard] = n
	}
	if n.busy < n.lanes() {
		n.busy++
		p.mu.Unlock()
		began := time.Now()
		err := p.client.Process(ctx, cmd)
		p.next(n, time.Since(began))
		return err
	}
	l := &letter{ctx: ctx, cmd: cmd, done: make(chan struct{})}
	n.queue = append(n.queue, l)
	p.mu.Unlock()
	<-l.done // bounded: what is under way has deadlines
	if l.with != nil {
		began := time.Now()
		p.send(l.with)
		p.next(n, time.Since(began))
	}
	return cmd.Err()
}

func key(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 4 {
		return ""
	}
	name, _ := args[3].(string)
	return name
}

func (n *node) lanes() int {
	if n.most == 1 {
		return alone
	}
	return lanes
}

// next passes the lane that became free on to the first who waits, with others that have gathered. What was
// sent on it took so long. If there is room for more lanes than before, they are used as well.
func (p *Pipe) next(n *node, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case took > slow:
		n.most = max(n.most/2, 1)
	case took < quick:
		n.most = min(2*n.most, most)
	}
	n.busy--
	for len(n.queue) > 0 && n.busy < n.lanes() {
		with := n.queue[:min(len(n.queue), n.most)]
		n.queue = n.queue[len(with):]
		n.busy++
		with[0].with = with
		close(with[0].done)
	}
	if len(n.queue) == 0 {
		n.queue = nil
	}
}

// send sends a pipeline and tells all but the first, whose sender is the caller.
func (p *Pipe) send(with []*letter) {
	pipe := p.client.Pipeline()
	sent := make([]*letter, 0, len(with))
	var ctx context.Context = earliest{Context: context.Background()}
	for _, l := range with {
		if err := over(l.ctx); err != nil {
			l.cmd.SetErr(err)
			continue
		}
		ctx = ctx.(earliest).and(l.ctx)
		_ = pipe.Process(l.ctx, l.cmd) // only queues
		sent = append(sent, l)
	}
	if len(sent) > 0 {
		_, err := pipe.Exec(ctx)
		for _, l := range sent {
			if err != nil && l.cmd.Err() == nil && !answered(l.cmd) {
				l.cmd.SetErr(err) // it never came to be sent
			}
		}
	}
	for _, l := range with[1:] {
		close(l.done)
	}
}

// over is why there is no use in sending a command any more.
func over(ctx context.Context) error {
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
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
