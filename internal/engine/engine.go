package engine

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

const (
	tick       = 10 * time.Millisecond // of the wheel: validity falls short of the lease by one
	maxLimit   = 3 * time.Second       // of one command, however long the lease
	renewBatch = 256                   // holds in one renewal script

	firstPause = 10 * time.Millisecond // between attempts that got no answer
	lastPause  = 500 * time.Millisecond
)

// Config is what an Engine is made of. All fields are set.
type Config struct {
	Store          store.Store // which the engine starts and closes
	ClientID       string
	Lease          time.Duration
	MaxPoll        time.Duration
	ReleaseTimeout time.Duration
	MinReplicas    int // that the store waits for
	Errors         Errors
	Events         Events
	Logger         *slog.Logger
}

// Engine waits, wakes, renews, loses, hands on and cleans up for every lock of one client.
type Engine struct {
	cfg      Config
	clock    *watchdog.Clock
	wheel    *watchdog.Wheel
	watchdog *watchdog.Watchdog
	store    store.Store
	clocks   serverclock.Clocks
	table    table
	reclaim  reclaimer
	recent   recent
	ender    ender
	settled  settledRequests

	withdrawn withdrawals
	events    *events
	nonce     atomic.Uint64

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
	e := &Engine{cfg: cfg, store: cfg.Store, clock: watchdog.NewClock(), closing: make(chan struct{}),
		done: make(chan struct{}),
	}
	limit := CommandLimit(cfg.Lease)
	e.wheel = watchdog.NewWheel(e.clock, tick)
	e.events = newEvents(cfg.Events, cfg.Logger, e.clock)
	e.table.engine = e
	e.reclaim.engine = e
	e.recent.engine = e
	e.withdrawn.engine = e
	e.ender.init(e.wheel)
	e.watchdog = watchdog.New(watchdog.Config{
		Wheel: e.wheel, Clock: e.clock,
		Period: cfg.Lease / 3,
		Retry:  min(cfg.Lease/20, lastPause),
		Limit:  limit,
		Batch:  renewBatch, Most: renewMost(cfg.MinReplicas),
		Shard: func(l *watchdog.Lease) string { return e.node(holdOf(l).proto.Key()) },
		Renew: e.renew,
		Lost:  func(l *watchdog.Lease, cause error) { holdOf(l).expire(cause) },
		Renewed: func(l *watchdog.Lease, err error) {
			e.events.renewed(holdOf(l).proto.Name(), err)
		},
	})
	e.store.Start(store.Host{
		Clock: e.clock, Wheel: e.wheel, Limit: limit, Warn: e.events.warn, Replaced: e.replaced, Heard: e.heard,
	})
	return e
}

// Slot is equal for keys whose locks one script can take, as far as is known.
func (e *Engine) Slot(key string) int { return e.store.Slot(key) }

// node names the node that serves key.
func (e *Engine) node(key string) string {
	return e.store.Node(key)
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
func (e *Engine) refuse(p store.Protocol) error {
	return &callError{kind: e.cfg.Errors.Closed, name: p.Name()}
}

// unavailable makes the error of a call that the store did not answer, or answered with an error.
func (e *Engine) unavailable(p store.Protocol, err error) error {
	var impossible *store.Refused
	if errors.As(err, &impossible) {
		return impossible.Err
	}
	word := e.cfg.Errors.silence(err)
	if store.FaultOf(err) == store.FaultConflict {
		word = e.cfg.Errors.KeyConflict
	}
	return &callError{kind: word, name: p.Name(), cause: ours(err)}
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
