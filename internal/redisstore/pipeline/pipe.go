package pipeline

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	// fewInFlight is how many commands, or pipelines, are under way to one node before more gather. With fewer,
	// the connection is idle while replies are read; with more, less gathers.
	fewInFlight = 4
	// manyInFlight is that number if waiting for one of them costs more than it saves: if the node is distant, or each
	// command takes so long that they are sent one by one.
	manyInFlight = 16

	linger = time.Second // how long a sender waits for another pipeline
)

// Client sends the commands.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Config configures a Pipe.
type Config struct {
	Client Client
	Wires  *links.Wires            // the connections of Client
	Shard  func(key string) string // names the node that serves a key
	Bundle bool                    // a script may have keys of any slots: there is no cluster
	Limit  time.Duration           // the longest time limit of a command
}

// Pipe sends commands. Its methods are safe for concurrent use.
//
// The mutex is held for bookkeeping only, never during an exchange. No other mutex is taken while it is held.
// The channel batches has no room and is never closed; dispatch sends to it only if an idle sender receives at
// once, and otherwise starts another one. Join waits for the senders and for the goroutines that settle
// exchanges.
type Pipe struct {
	cfg     Config
	running sync.WaitGroup // goroutines that send, or wait for exchanges that were left
	ending  chan struct{}  // closed when every caller that may leave must do so
	batches chan batch     // to idle senders
	apart   atomic.Bool    // the server takes no bundles

	mu    sync.Mutex // guards nodes and all in them, and exits
	nodes map[string]*node
	exits map[*exit]struct{} // of commands that are under way by themselves
	spare []*exit
}

// node holds the commands under way to one node, and those that gather for it.
//
// Each command, or pipeline, that is under way counts in busy from before it is sent until next. So as long as
// the queue is not empty, busy is not 0, and the exchange that ends will send what has gathered: no command can
// be left behind in the queue.
type node struct {
	pace
	busy       int
	queue      []*command
	absent     int  // commands in the queue whose senders have left
	collecting bool // a sender has a place and waits for the rest of a burst
}

// batch is a pipeline to be sent. Without commands it is a place, for what is collected from the queue.
type batch struct {
	node     *node
	commands []*command
}

// New returns a Pipe.
func New(cfg Config) *Pipe {
	return &Pipe{
		cfg: cfg, ending: make(chan struct{}), batches: make(chan batch),
		nodes: make(map[string]*node), exits: make(map[*exit]struct{}),
	}
}

// Process sends a command whose argument number 3 is the key, as in EVALSHA, and waits for the reply until
// the context's deadline, which must differ from that of every other command. If the context is cancelled,
// Process returns at once.
//
// A command with less time than the round trip takes is sent by a sender even if there is room in flight. Its caller
// leaves at the deadline, and the exchange goes on for as long as the node needs, so the connection is kept.
func (p *Pipe) Process(ctx context.Context, cmd redis.Cmder) error {
	at, _ := ctx.Deadline()
	now := time.Now()
	if err := over(ctx, at, now); err != nil {
		return err // go-redis might dial first, which takes longer
	}
	shard := p.cfg.Shard(key(cmd))
	p.mu.Lock()
	n := p.nodeLocked(shard)
	free := n.busy < n.limit()
	collect := free && n.busy > 0 && n.distant()
	if free && !collect && (at.IsZero() || at.Sub(now) >= n.patience()) {
		x, err := p.newExitLocked(ctx)
		if err == nil {
			n.busy++
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
		return p.single(ctx, n, cmd, x)
	}
	l := &command{ctx: ctx, at: at, node: n, cmd: cmd, done: make(chan struct{})}
	l.short = !at.IsZero() && at.Sub(now) < p.cfg.Limit/2
	switch {
	case collect:
		n.queue = append(n.queue, l)
		if !n.collecting {
			n.collecting = true
			n.busy++
			p.dispatch(batch{node: n})
		}
	case free: // alone it would take its connection with it if it has to wait
		n.busy++
		p.dispatch(batch{n, []*command{l}})
	default:
		n.queue = append(n.queue, l)
	}
	p.mu.Unlock()
	return p.await(l)
}

func (p *Pipe) nodeLocked(shard string) *node {
	n := p.nodes[shard]
	if n == nil {
		n = &node{pace: newPace(p.cfg.Limit)}
		p.nodes[shard] = n
	}
	return n
}

// End makes every caller leave whose context can be cancelled, as if it were. It must be called once.
//
// A command that gathers sees ending in await; one that is alone is in exits. Its exit may find no connection
// yet; leave then repeats the search until the call has returned.
func (p *Pipe) End() {
	close(p.ending)
	p.mu.Lock()
	defer p.mu.Unlock()
	for x := range p.exits {
		p.running.Go(x.leave)
	}
}

// Join waits until no goroutine of the Pipe is left.
func (p *Pipe) Join() { p.running.Wait() }

func key(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 4 {
		return ""
	}
	name, _ := args[3].(string)
	return name
}

func (n *node) limit() int {
	if n.size == 1 || n.distant() {
		return manyInFlight
	}
	return fewInFlight
}

// sent is an exchange that has ended.
type sent struct {
	node   *node
	began  time.Time
	n      int  // commands
	answer bool // there was one, even an error

	collected bool // there was no exchange: a place was kept while a burst was collected
}

// next gives the place that became free to the commands that have gathered. The exchange on it may have had
// an exit. If more exchanges are allowed than before, they begin as well. If the caller is a sender, it gets
// one batch to send itself.
func (p *Pipe) next(was sent, x *exit, sender bool) (mine []*command) {
	now, n := time.Now(), was.node
	p.mu.Lock()
	defer p.mu.Unlock()
	if x != nil {
		p.putExitLocked(x)
	}
	if was.n > 0 {
		n.note(now, now.Sub(was.began), was.n, was.answer)
	}
	n.busy--
	if was.collected {
		n.collecting = false
	}
	if n.absent > 0 {
		n.queue = slices.DeleteFunc(n.queue, func(l *command) bool { return l.cmd == nil })
		n.absent = 0
	}
	for len(n.queue) > 0 && n.busy < n.limit() && !n.collecting {
		with := n.queue[:min(len(n.queue), n.pace.next(now), n.share())]
		n.queue = n.queue[len(with):]
		n.busy++
		if sender && mine == nil {
			mine = with
			continue
		}
		p.dispatch(batch{n, with})
	}
	if len(n.queue) == 0 {
		n.queue = nil
	}
	return mine
}

// dispatch gives a batch to a sender: an idle one, or a new one.
func (p *Pipe) dispatch(b batch) {
	select {
	case p.batches <- b:
	default:
		p.running.Go(func() { p.sender(b) })
	}
}

// sender sends batches until there was none for a while. There are no more senders than pipelines were under
// way at the same time. Each has a stack that has grown, the largest cost of a new one.
//
// After End it still sends what has gathered, of callers that cannot leave, before it looks at ending. A batch
// that comes later gets a sender of its own, which ends at once when it is done.
func (p *Pipe) sender(b batch) {
	idle := time.NewTimer(linger)
	defer idle.Stop()
	for {
		if b.commands == nil {
			b.commands = p.collect(b.node)
		}
		for b.commands != nil {
			began := time.Now()
			n, answer := p.send(b.node, b.commands)
			b.commands = p.next(sent{node: b.node, began: began, n: n, answer: answer}, nil, true)
		}
		idle.Reset(linger)
		select {
		case b = <-p.batches:
		case <-idle.C:
			return
		case <-p.ending:
			return
		}
	}
}

// over returns why sending a command has become pointless, or nil.
func over(ctx context.Context, at, now time.Time) error {
	if !at.IsZero() && !now.Before(at) {
		return store.ErrLate
	}
	return ctx.Err()
}
