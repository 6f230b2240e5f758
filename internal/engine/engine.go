package engine

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

var background = context.Background()

// Config is what an Engine is made of. All fields but Server and Owners are set.
type Config struct {
	Store          store.Store // which the engine starts and closes
	ClientID       string
	Lease          time.Duration
	MaxPoll        time.Duration
	ReleaseTimeout time.Duration
	MaxKept        int  // idle grants
	Confirmed      bool // the store waits until what it wrote is confirmed
	Errors         Errors
	Events         Events
	Logger         *slog.Logger
	Server         string // what operators call the only node of the store; "" if it has several

	// Owners adds to holders, within ctx, what their clients say of themselves. Nil: they are not asked.
	Owners func(ctx context.Context, holders []Holder)
}

// Engine waits, wakes, renews, loses, passes on and cleans up for every lock of one client. All fields but the
// nonce are set by New and constant after that; what they point to has mutexes of its own.
//
// Its goroutines: those of callers, which run everything that a call needs and leave nothing behind when it
// returns; the wheel's, which ends holds and starts renewals; the ender's, a few, which end contexts; those that the
// sender spawns (renewals of counts, registrations, late answers), which Close joins; and one for each stream of
// events while there is something to tell.
type Engine struct {
	cfg      Config
	clock    *watchdog.Clock
	wheel    *watchdog.Wheel
	watchdog *watchdog.Watchdog
	store    store.Store
	sender   *request.Sender
	table    table
	ender    hold.Ender
	events   *events
	holds    hold.Host
	nonce    atomic.Uint64
	keeper   keeper
	listener listener
	trip     atomic.Int64  // see readTrip
	done     chan struct{} // closed when Close is done
}

// renewMost is how many holds are renewed in one round trip: what gathers when more of them are due than one
// script after the other could renew over a long way. Where what was written must be confirmed, each script
// takes a connection of its own.
func renewMost(confirmed bool) int {
	if confirmed {
		return request.Batch
	}
	return 16 * request.Batch
}

// New returns an engine. It sends nothing.
//
// The parts are made in the order in which they need one another: the wheel needs the clock; the sender the wheel,
// which wakes the ledger; the watchdog the wheel; the holds all of them. The store is started last, because it
// may call the engine from then on.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, store: cfg.Store, clock: watchdog.NewClock(), done: make(chan struct{})}
	limit := request.CommandLimit(cfg.Lease)
	e.wheel = watchdog.NewWheel(e.clock, hold.Tick)
	e.events = newEvents(cfg.Events, cfg.Logger, e.clock)
	e.table.engine = e
	e.keeper.most = cfg.MaxKept
	e.listener.timer.Init(func(arg any) { arg.(*Engine).listen() }, e)
	e.sender = request.New(request.Config{
		Store: e.store, Clock: e.clock, Wheel: e.wheel, Lease: cfg.Lease, ReleaseTimeout: cfg.ReleaseTimeout,
		Warn: e.events.warn, Info: e.events.info, Holds: e.holdsOf, Server: cfg.Server, Confirmed: cfg.Confirmed,
	})
	e.watchdog = watchdog.New(watchdog.Config{
		Wheel: e.wheel, Clock: e.clock,
		Period: cfg.Lease / 3,
		Retry:  min(cfg.Lease/20, request.LastPause),
		Limit:  limit,
		Batch:  request.Batch, Most: renewMost(cfg.Confirmed),
		Shard: func(l *watchdog.Lease) string { return e.node(leased(l).proto.Key()) },
		Renew: e.renew,
		Lost:  func(l *watchdog.Lease, cause error) { leased(l).expire(cause) },
		Renewed: func(l *watchdog.Lease, err error) {
			e.events.renewed(leased(l).proto, err)
		},
	})
	e.holds = e.host()
	e.store.Start(store.Host{
		Clock: e.clock, Wheel: e.wheel, Limit: limit, Warn: e.events.warn, Replaced: e.replaced, Heard: e.heard,
		Client: cfg.ClientID, Wanted: e.wanted, Broken: e.broken, Missed: e.missed, Gone: e.gone,
		Deaf: e.deaf, OnCommand: e.events.onCommand(),
	})
	if clients.enter(cfg.Server) {
		e.events.warn("this process has ten live clients of one server: make one client, share it, and close it at "+
			"the end, because each has connections and goroutines of its own", "server", cfg.Server)
	}
	return e
}

// by is a context under which nothing takes longer than until end, however many connections have to be made.
func (e *Engine) by(end time.Duration) context.Context {
	left := end - e.clock.Now()
	return e.store.WithinAll(background, left, left)
}

// Close refuses new work, ends the contexts of what is held, releases it, and joins every goroutine.
// It takes the release timeout at most, and a little more for joining; a node that has not answered an unlock for that
// long has a quarter of it left. It returns the names that were still held.
//
// The order is what makes it safe. First no call is let in any more, and those that wait are told to leave. Then the
// contexts of all holds end, before anything is released. Then the ids are released, for as long as the timeout allows;
// calls that were still under way get the rest of it, and what they leave behind is released at last. Only when every
// goroutine that may use the wheel has been joined does the wheel stop, and then the ender, to which the wheel adds. A
// second Close waits for the first.
func (e *Engine) Close() []string {
	if !e.sender.Close() {
		<-e.done
		return nil
	}
	clients.leave(e.cfg.Server)
	e.store.End()
	defer close(e.done)

	end := e.clock.Now() + e.cfg.ReleaseTimeout
	_ = crash.At(crash.Close)
	names, orphans := e.abandonAll()
	e.finish(orphans, end)
	return names
}

// finish releases what is left, and joins every goroutine of an engine that takes no calls any more.
func (e *Engine) finish(orphans []request.Disowned, end time.Duration) {
	e.sender.ReleaseAll(orphans, end)
	e.sender.WaitUntil(end)
	e.sender.ReleaseAll(nil, end) // what the calls that were joined left behind
	e.store.HangUp()              // also ends calls and renewals that are still under way
	e.watchdog.Close()
	e.sender.Wait()
	e.store.Wait()
	e.wheel.Close()
	e.ender.Finish()
	e.events.close(max(end-e.clock.Now(), 100*time.Millisecond))
}

// abandonAll ends every live hold here. A hold that is being released already is left to the call that releases it,
// which Close waits for. The orphans are released together, many by one script.
func (e *Engine) abandonAll() (names []string, orphans []request.Disowned) {
	for _, g := range e.table.all() {
		ended, ok := g.End(hold.Closed, e.refuse(g.proto))
		if !ok {
			continue
		}
		e.watchdog.Stop(&g.Lease)
		ended.Contexts()
		e.events.ended(ended.Owners, ended.Cause)
		g.key.drop(g)
		if ended.Losers > 0 { // nobody holds what is idle
			names = append(names, g.proto.Name())
		}
		orphans = append(orphans, g.disowned(0))
	}
	return names, orphans
}

// OnCommand is what reports a script to the observer that did not go through the store: nil if nobody is told. What is
// reported when the engine has been closed is dropped.
func (e *Engine) OnCommand() func(store.Command) { return e.events.onCommand() }

// Warn adds a line to the client's log, and does not wait for it.
func (e *Engine) Warn(text string, args ...any) { e.events.warn(text, args...) }

// Info does the same for what is no trouble.
func (e *Engine) Info(text string, args ...any) { e.events.info(text, args...) }

// Lease is the client's lease.
func (e *Engine) Lease() time.Duration { return e.cfg.Lease }

// Slot is equal for keys whose locks one script can take, as far as is known.
func (e *Engine) Slot(key string) int { return e.store.Slot(key) }

// node names the node that serves key.
func (e *Engine) node(key string) string {
	return e.store.Node(key)
}

// newID makes an id that was never used and never will be: the client's id is random, and the numbers of one client
// only grow. Nearly every argument in this package begins there. A request, a release or a count that arrives at
// whatever time can only ever touch the grant that it was meant for.
func (e *Engine) newID() string { return e.id("") }

// idFor makes such an id for a request: a marked one, if its client is to hear that others wait.
func (e *Engine) idFor(req *Request) string {
	if req.Keep > 0 || req.Yields {
		return e.id(store.KeptMark)
	}
	return e.newID()
}

func (e *Engine) id(mark string) string {
	var text [64]byte
	id := append(append(append(text[:0], e.cfg.ClientID...), ':'), mark...)
	return string(strconv.AppendUint(id, e.nonce.Add(1), 36))
}

// refuse makes the error of a call that a closed engine does not take.
func (e *Engine) refuse(p store.Protocol) error {
	return &callError{kind: e.cfg.Errors.Closed, of: p}
}

// notHeld makes the error of a call that finds no hold.
func (e *Engine) notHeld(p store.Protocol) error {
	return &callError{kind: e.cfg.Errors.NotHeld, of: p}
}

// unavailable makes the error of a call that the store did not answer, or answered with an error. A key that belongs to
// something else is a conflict, which no waiting mends; a request that the store can never carry out says why in words
// of its own; all else is "unavailable", and may be another time.
func (e *Engine) unavailable(p store.Protocol, err error) error {
	var impossible *store.Refused
	if errors.As(err, &impossible) {
		return impossible.Err
	}
	return &callError{kind: e.cfg.Errors.unserving(err), of: p, cause: ours(err)}
}

// Closed reports whether Close was called.
func (e *Engine) Closed() bool { return e.sender.Closed() }

// replaced is called when a primary has been replaced by another one, which may not have heard of the last
// acquisitions and releases. What it has not heard of it may give to others. A client of one server can do nothing
// about that but learn of it soon. All holds are renewed at once, so that a hold that the new primary does not know is
// told of now and not after a third of a lease; what was released is released again.
func (e *Engine) replaced() {
	for _, g := range e.table.all() {
		e.watchdog.Hurry(&g.Lease)
	}
	e.sender.Replaced()
}

// holdsOf is how many holds of this client a node has.
func (e *Engine) holdsOf(node string) (n int) {
	for _, g := range e.table.all() {
		if g.Stands() && e.node(g.proto.Key()) == node {
			n++
		}
	}
	return n
}

var errNoAnswer = errors.New("no answer yet")

// NoAnswer reports that a call ended with err before anything was known of what it waited for.
func NoAnswer(err error) bool { return errors.Is(err, errNoAnswer) }
