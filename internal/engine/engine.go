package engine

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/pipeline"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/wake"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/watchdog"
)

const (
	tick       = 10 * time.Millisecond // of the wheel: validity falls short of the lease by one
	maxLimit   = 3 * time.Second       // of one command, however long the lease
	linger     = time.Second           // of a subscription that nobody waits on
	renewBatch = 256                   // holds in one renewal script

	firstPause = 10 * time.Millisecond // between attempts that got no answer
	lastPause  = 500 * time.Millisecond
)

// Config is what an Engine is made of. All fields are set.
type Config struct {
	Links          *links.Links
	ClientID       string
	Lease          time.Duration
	MaxPoll        time.Duration
	ReleaseTimeout time.Duration
	MinReplicas    int
	Words          Words
	Events         Events
	Logger         *slog.Logger
}

// Engine waits, wakes, renews, loses, hands on and cleans up for every lock of one client.
type Engine struct {
	cfg     Config
	clock   *watchdog.Clock
	wheel   *watchdog.Wheel
	dog     *watchdog.Watchdog
	hub     *wake.Hub
	traffic *pipeline.Pipe // what all but renewals are sent with
	clocks  serverclock.Clocks
	table   table
	reclaim reclaimer
	recent  recent
	ender   ender
	settled settledRequests

	withdrawn withdrawals
	news      *news
	nonce     atomic.Uint64
	unheard   atomic.Bool // it was logged that releases are not published
	bySlot    atomic.Bool // the server turned out to want the keys of a script in one slot

	closing chan struct{}  // closed when Close begins
	done    chan struct{}  // closed when Close is done
	calls   sync.WaitGroup // calls of the API, and goroutines that wait for a reply or clean up
	mu      sync.Mutex     // guards closed, and calls against Close
	closed  bool
}

// CommandLimit is how long one command may take under a lease: a fraction of it, so that several
// attempts fit into the time that a renewal has.
func CommandLimit(lease time.Duration) time.Duration { return min(lease/6, maxLimit) }

// renewMost is how many holds are renewed in one round trip: what gathers when more of them are due than one
// script after the other could renew over a long way. Where replicas are waited for, each script takes a
// connection of its own.
func renewMost(minReplicas int) int {
	if minReplicas > 0 {
		return renewBatch
	}
	return 16 * renewBatch
}

// New returns an engine. It sends nothing.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, clock: watchdog.NewClock(), closing: make(chan struct{}),
		done: make(chan struct{}),
	}
	limit := CommandLimit(cfg.Lease)
	e.traffic = pipeline.New(pipeline.Config{
		Client: cfg.Links.Traffic, Wires: cfg.Links.Wires(), Shard: e.node, Bundle: !cfg.Links.Cluster(),
		Limit: limit,
	})
	e.wheel = watchdog.NewWheel(e.clock, tick)
	e.news = newNews(cfg.Events, cfg.Logger, e.clock)
	cfg.Links.OnEvicting(func(policy string) {
		e.news.warn("redis evicts keys when its memory is full, and locks with them; set maxmemory-policy to noeviction",
			"maxmemory-policy", policy)
	})
	e.table.engine = e
	e.reclaim.engine = e
	e.recent.engine = e
	e.withdrawn.engine = e
	e.ender.init(e.wheel)
	e.dog = watchdog.New(watchdog.Config{
		Wheel: e.wheel, Clock: e.clock,
		Period: cfg.Lease / 3,
		Retry:  min(cfg.Lease/20, lastPause),
		Limit:  limit,
		Batch:  renewBatch, Most: renewMost(cfg.MinReplicas),
		Shard: func(l *watchdog.Lease) string { return e.node(holdOf(l).proto.Key()) },
		Renew: e.renew,
		Lost:  func(l *watchdog.Lease, cause error) { holdOf(l).expire(cause) },
		Renewed: func(l *watchdog.Lease, err error) {
			e.news.renewed(holdOf(l).proto.Name(), err)
		},
	})
	e.hub = wake.New(wake.Config{
		Open: func(ctx context.Context) *redis.PubSub { return cfg.Links.Traffic.Subscribe(ctx) },
		Shard: func(ctx context.Context, channel string) string {
			return cfg.Links.Shard(ctx, channel)
		},
		Moved:   cfg.Links.Moved,
		Heard:   e.heard,
		Sharded: cfg.Links.Sharded,
		Wheel:   e.wheel, Clock: e.clock,
		Linger: linger, Life: cfg.Links.Life(), Limit: cfg.Links.Greeting() + limit,
	})
	cfg.Links.OnReplaced(e.replaced)
	return e
}

// node names the node that serves key.
func (e *Engine) node(key string) string {
	return e.cfg.Links.Shard(context.Background(), key)
}

// holdNumber is what tells the hold ids of one client apart.
type holdNumber uint64

const numberBase = 36

// newID makes a hold id that was never used and never will be.
func (e *Engine) newID() string { return e.idOf(holdNumber(e.nonce.Add(1))) }

// idOf is the id of a number.
func (e *Engine) idOf(n holdNumber) string {
	var text [64]byte
	id := append(append(text[:0], e.cfg.ClientID...), ':')
	return string(strconv.AppendUint(id, uint64(n), numberBase))
}

// numberOf is the number of an id of this client; 0, which no id has, of any other.
func (e *Engine) numberOf(id string) holdNumber {
	text, ok := strings.CutPrefix(id, e.cfg.ClientID)
	if !ok || !strings.HasPrefix(text, ":") {
		return 0
	}
	n, err := strconv.ParseUint(text[1:], numberBase, 64)
	if err != nil {
		return 0
	}
	return holdNumber(n)
}

// begin registers work that Close is to join. It reports false if the engine is closed.
func (e *Engine) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.calls.Add(1)
	return true
}

// spawn runs fn in a goroutine that Close joins; on a closed engine it does not run at all.
func (e *Engine) spawn(fn func()) bool {
	if !e.begin() {
		return false
	}
	go func() {
		defer e.calls.Done()
		fn()
	}()
	return true
}

// follow runs fn in a goroutine that Close joins. The caller is one of those calls that it joins.
func (e *Engine) follow(fn func()) { e.calls.Go(fn) }

// limit is the time limit of one command for a lease.
func (e *Engine) limit(lease time.Duration) time.Duration {
	return min(CommandLimit(lease), CommandLimit(e.cfg.Lease))
}

// validUntil is how long a hold may be believed in that Redis keeps for lease since start.
func validUntil(start, lease time.Duration) time.Duration {
	return start + lease - watchdog.Margin(lease, tick)
}

// refuse makes the error of a call that a closed engine does not take.
func (e *Engine) refuse(p Protocol) error {
	return &verdict{word: e.cfg.Words.Closed, name: p.Name()}
}

// unavailable makes the error of a call that Redis did not answer, or answered with an error.
func (e *Engine) unavailable(p Protocol, err error) error {
	var impossible *Refused
	if errors.As(err, &impossible) {
		return impossible.Err
	}
	err = lua.Explain(err) // which may have met a connection that was being made
	word := e.cfg.Words.silence(err)
	if classify(err) == faultConflict {
		word = e.cfg.Words.KeyConflict
	}
	return &verdict{word: word, name: p.Name(), cause: ours(err)}
}

// Closed reports whether Close was called.
func (e *Engine) Closed() bool { return e.isClosed() }

// isClosed reports whether Close was called.
func (e *Engine) isClosed() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

var errNoAnswer = errors.New("no answer")
