package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lua"
)

const (
	maxBatch   = 128     // errands in one pipeline
	maxLasting = 1 << 16 // waiting for a node; a forgotten hold ends with its lease

	firstPause = 20 * time.Millisecond // before a failed node is tried again
	lastPause  = 500 * time.Millisecond
)

// errand is one script for one node.
//
// Exactly one goroutine has an errand at a time: while queued is true the lane's queue has it, and whoever sets
// queued to false under lane.mu takes it over. That is take, which sends it; giveUp, which reports it as
// unsent; or cancel, after which nobody calls land. So cancel never takes back what take has already taken.
type errand struct {
	lane    *lane
	urgent  bool          // goes before errands that are not
	lasting bool          // is kept while the node is down; land decides when to give up
	patient bool          // also waits for a node that is only late
	due     time.Duration // not before
	end     time.Duration // for land: nothing can be left to do then

	// make prepares the call when it is sent; nil: there is nothing left to send.
	make func(now time.Duration) *lua.Call[lua.QuorumReply]
	// land handles the answer. It is called once for every sending, and for an errand that is given up unsent, never
	// under a lane's mutex. If it returns true the errand is sent again.
	land func(e *errand, reply lua.QuorumReply, err error) (again bool)

	// Guarded by lane.mu.
	queued bool
}

// node is one server. All its requests go through its lane, in one pipeline at a time; later requests wait for the
// answer, and go together in the next pipeline. So a server that was frozen has one pipeline to carry out when it
// thaws, however much was asked meanwhile, and it gets requests in the order in which they were queued.
//
// A timeline of a node that freezes, with a NodeTimeout of 200 ms and a link timeout of 3 s:
//
//	0 ms      a pipeline is sent, with an acquisition
//	200 ms    the acquisition's caller goes on without the node; from now on the node is silent
//	400 ms    also errands that are patient are refused now, without being sent
//	3,000 ms  the pipeline fails; its errands get the error
//	3,020 ms  one pipeline may be sent, over a new connection, if there is anything to send
type node struct {
	lane
	addr   string
	client *Client
	rdb    *redis.Client
}

// At most one goroutine, run, serves it. running is true from before it is started until it has found the queue
// empty, under the same mutex, so an errand that is queued then either is seen by it or starts another. Between
// pipelines with nothing to send there is no goroutine at all, only the timer wake.
type lane struct {
	node *node // the node that the lane belongs to

	mu       sync.Mutex // guards all below
	urgent   []*errand
	normal   []*errand
	running  bool          // a goroutine is at work
	flying   bool          // a pipeline is under way
	sentAt   time.Duration // when it was sent
	rtt      time.Duration // smoothed
	failures int           // of the link, since it last worked
	retryAt  time.Duration // after a failure: when the next pipeline may be sent
	why      error         // of the last failure
	wake     *time.Timer   // for errands that last or are not due yet
	wakeAt   time.Duration
	closed   bool
}

// submit queues an errand. While the node does not answer, an errand that does not last is refused: it is not sent,
// and land is not called.
//
// It never waits, and it may be called with the mutex of a hold held. Refusing what does not last keeps the
// queue of a frozen node short: only releases gather there, and their number is bounded.
func (l *lane) submit(e *errand) error {
	now := l.node.client.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	e.lane = l
	switch {
	case l.closed:
		return errClosed
	case e.lasting && len(l.urgent) >= maxLasting:
		return errSilent
	case e.lasting, e.patient && l.lateLocked(now):
	case l.silentLocked(now):
		return errSilent
	case l.failures > 0 && now < l.retryAt:
		return l.why
	}
	l.queueLocked(e)
	l.startLocked(now)
	return nil
}

// silentLocked reports that the last pipeline has been unanswered for longer than NodeTimeout.
func (l *lane) silentLocked(now time.Duration) bool {
	return l.flying && now-l.sentAt > l.node.client.timeout
}

// lateLocked reports that the node does not answer, but did until a short while ago. It may be slow, or its
// connection may be about to be replaced: it is not yet known to be down.
func (l *lane) lateLocked(now time.Duration) bool {
	if l.flying {
		return now-l.sentAt <= 2*l.node.client.timeout
	}
	return l.failures == 1 && l.retryAt-now < l.node.client.timeout
}

func (l *lane) queueLocked(e *errand) {
	e.queued = true
	if e.urgent {
		l.urgent = append(l.urgent, e)
	} else {
		l.normal = append(l.normal, e)
	}
}

// cancel takes back an errand that was not sent yet. Land is not called for it.
func (e *errand) cancel() bool {
	if e.lane == nil {
		return false
	}
	e.lane.mu.Lock()
	defer e.lane.mu.Unlock()
	was := e.queued
	e.queued = false // the loop that takes errands skips it
	return was
}

// startLocked makes sure that a goroutine serves the queue, now or when something is due.
func (l *lane) startLocked(now time.Duration) {
	if l.running || l.closed {
		return
	}
	at, ok := l.nextLocked()
	switch {
	case !ok:
	case at <= now:
		l.running = l.node.client.spawn(l.run)
	case l.wake == nil:
		l.wakeAt = at
		l.wake = time.AfterFunc(at-now, l.timed)
	case at < l.wakeAt:
		l.wakeAt = at
		l.wake.Reset(at - now)
	}
}

func (l *lane) timed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = nil
	l.startLocked(l.node.client.clock.Now())
}

// nextLocked returns when there is something to send.
func (l *lane) nextLocked() (at time.Duration, ok bool) {
	for _, queue := range [][]*errand{l.urgent, l.normal} {
		for _, e := range queue {
			if e.queued && (!ok || e.due < at) {
				at, ok = e.due, true
			}
		}
	}
	if l.failures > 0 {
		at = max(at, l.retryAt)
	}
	return at, ok
}

// run sends until nothing is left that may be sent now.
func (l *lane) run() {
	for {
		batch := l.take()
		if len(batch) == 0 {
			return
		}
		l.fly(batch)
	}
}

// take returns the next batch. An empty one means that the goroutine must end.
//
// The decision to end and the end of running are one critical section. An errand that is queued before it is
// taken; one that is queued after it starts a new goroutine.
func (l *lane) take() []*errand {
	now := l.node.client.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var batch []*errand
	if at, ok := l.nextLocked(); ok && at <= now && !l.closed {
		batch = takeFrom(&l.urgent, batch, now)
		batch = takeFrom(&l.normal, batch, now)
	}
	if len(batch) == 0 {
		l.running = false
		l.startLocked(now)
		return nil
	}
	l.flying, l.sentAt = true, now
	return batch
}

func takeFrom(queue *[]*errand, batch []*errand, now time.Duration) []*errand {
	rest := (*queue)[:0]
	for _, e := range *queue {
		switch {
		case !e.queued:
		case e.due <= now && len(batch) < maxBatch:
			e.queued = false
			batch = append(batch, e)
		default:
			rest = append(rest, e)
		}
	}
	clear((*queue)[len(rest):])
	*queue = rest
	return batch
}

// fly sends a batch, waits for its answers, and passes them to land.
//
// The limit is patience and not NodeTimeout, because the two answer different questions: callers stop waiting
// after NodeTimeout, but a reply that comes later is still worth reading, since it tells what the node has
// done. Client.life ends it early at Close.
func (l *lane) fly(batch []*errand) {
	c := l.node.client
	sent := c.clock.Now()
	flown := batch[:0]
	var calls []*lua.Call[lua.QuorumReply]
	for _, e := range batch {
		if call := e.make(sent); call != nil {
			flown, calls = append(flown, e), append(calls, call)
		}
	}
	if len(calls) > 0 {
		ctx, cancel := context.WithTimeout(c.life, c.patience)
		lua.RunAll(ctx, l.node.rdb, calls)
		cancel()
	}
	now := c.clock.Now()
	var failed []*errand
	var why error
	if link := broken(calls); len(calls) > 0 {
		failed, why = l.landed(now, now-sent, link)
	} else {
		l.grounded()
	}
	for i, e := range flown {
		reply := calls[i].Reply
		c.clocks.Observe(l.node.addr, sent, now, reply.Now)
		l.settle(e, reply, calls[i].Err)
	}
	for _, e := range failed {
		l.settle(e, lua.QuorumReply{}, why)
	}
}

// broken returns the error that shows that the link to the server failed, rather than a script.
func broken(calls []*lua.Call[lua.QuorumReply]) error {
	for _, call := range calls {
		if !answered(call.Err) {
			return call.Err
		}
	}
	return nil
}

// settle passes an answer to land, and sends the errand again if land asks for it.
func (l *lane) settle(e *errand, reply lua.QuorumReply, err error) {
	if !e.land(e, reply, err) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.queueLocked(e)
	}
}

func (l *lane) grounded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying = false
}

// landed updates the state of the link. After a failure every errand that does not last is given up.
//
// The pauses are 20, 40, 80, 160, 320 and then 500 ms, so a node that is back has a vote again within half a
// second. A server in its guard time is asked when that has passed.
func (l *lane) landed(now, took time.Duration, link error) (failed []*errand, why error) {
	l.mu.Lock()
	l.flying = false
	before := l.why
	l.why = link
	if link == nil {
		l.failures = 0
		l.rtt += (min(took, l.node.client.timeout) - l.rtt) / 8
	} else {
		l.failures++
		l.retryAt = now + min(firstPause<<min(l.failures-1, 10), lastPause)
		var refused *refusal
		if errors.As(link, &refused) {
			l.retryAt = max(refused.until, now+firstPause)
		}
		failed = append(giveUp(&l.urgent), giveUp(&l.normal)...)
	}
	l.mu.Unlock()
	switch {
	case link == nil && before != nil:
		l.node.client.notice("node answers again", l.node, nil)
	case link != nil && (before == nil || before.Error() != link.Error()):
		l.node.client.notice("node has no vote", l.node, link)
	}
	return failed, &unsentError{link}
}

// giveUp removes the errands that do not last from a queue.
func giveUp(queue *[]*errand) (failed []*errand) {
	rest := (*queue)[:0]
	for _, e := range *queue {
		switch {
		case !e.queued:
		case e.lasting:
			rest = append(rest, e)
		default:
			e.queued = false
			failed = append(failed, e)
		}
	}
	clear((*queue)[len(rest):])
	*queue = rest
	return failed
}

// unsentError is the error of an errand that was given up before it was sent.
type unsentError struct{ error }

func (u *unsentError) Unwrap() error { return u.error }

// close gives up everything. Land is not called.
//
// A goroutine that is sending goes on until its pipeline ends, which Client.Close causes, and then finds
// nothing. The timer may fire at the same time; startLocked sees closed.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.urgent, l.normal = nil, nil
	if l.wake != nil {
		l.wake.Stop()
	}
}

// idle reports that there is nothing to wait for: nothing is queued or under way, or the node is down.
func (l *lane) idle() bool {
	now := l.node.client.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waiting := l.nextLocked()
	return !l.running && !waiting || l.failures > 0 || l.silentLocked(now)
}
