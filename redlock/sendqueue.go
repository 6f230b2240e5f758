package redlock

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
)

const (
	maxBatch   = 128     // commands in one pipeline
	maxLasting = 1 << 16 // waiting for a node; a forgotten hold ends with its lease
)

// command is one script for one node.
//
// Exactly one goroutine has a command at a time: while queued is true the send queue has it, and the goroutine that
// sets queued to false under sendQueue.mu takes it over. That is take, which sends it; giveUp, which reports it as
// unsent; or cancel, after which nobody calls onAnswer. So cancel never takes back what take has already taken.
type command struct {
	at      *sendQueue
	urgent  bool          // goes before commands that are not
	lasting bool          // is kept while the node is down; onAnswer decides when to give up
	patient bool          // also waits for a node that is only late
	due     time.Duration // not before
	end     time.Duration // for onAnswer: nothing can be left to do then

	// make prepares the call when it is sent; nil: there is nothing left to send.
	make func(now time.Duration) *luacall.Call[luacall.QuorumReply]
	// onAnswer handles the answer. It is called once for every sending, and for a command that is given up unsent,
	// never under a send queue's mutex. If it returns true the command is sent again.
	onAnswer func(cmd *command, reply luacall.QuorumReply, err error) (again bool)

	// copied is true once a copy was sent that may still be carried out, though nothing was heard of it. Only the
	// goroutine that has the command sets it.
	copied bool

	// Guarded by sendQueue.mu.
	queued bool
}

// node is one server. All its requests go through its send queue, in one pipeline at a time; later requests wait for
// the answer, and go together in the next pipeline. So a server that was frozen has one pipeline to carry out when it
// thaws, however much was asked meanwhile, and it gets requests in the order in which they were queued.
//
// It is no pipeline.Pipe, each of whose callers waits for its answer. A hold asks all nodes at once, under its mutex;
// the first answers decide it, and nobody waits for the others. A release stays queued while its node is down. And a
// second pipeline must not be under way to a server that may be frozen. Over a Pipe, each command would need a
// goroutine that waits, and the queue, its refusals and its pauses would stand around it as they are.
//
// A timeline of a node that freezes, with a NodeTimeout of 200 ms and a link timeout of 3 s:
//
//	0 ms      a pipeline is sent, with an acquisition
//	100 ms    the node has been quick so far, so its connection may have been forgotten on the way: that is closed,
//	          and a new one made, over which the pipeline is sent once more if the node answers the greeting
//	200 ms    the acquisition's caller goes on without the node; from now on the node is silent
//	400 ms    also commands that are patient are refused now, without being sent
//	3,100 ms  the pipeline fails; its commands get the error, and the node is down
//	3,140 ms  one pipeline may be sent, over a new connection, if there is anything to send; until it is answered
//	          all other commands are refused
type node struct {
	sendQueue
	addr   string
	client *Client
	server quorum.Server
	hub    *wake.Hub // hears of releases; nil: nobody listens to such a server
	wants  *wake.Hub // hears of breaks, once the client listens; nil: as hub
}

// At most one goroutine, run, serves it. running is true from before it is started until it has found the queue
// empty, under the same mutex, so a command that is queued then either is seen by it or starts another. Between
// pipelines with nothing to send there is no goroutine at all, only the timer wake.
type sendQueue struct {
	node *node // the node that the send queue belongs to

	mu      sync.Mutex // guards all below
	health  health
	urgent  []*command
	normal  []*command
	running bool        // a goroutine is at work
	wake    *time.Timer // for commands that last or are not due yet
	wakeAt  time.Duration
	closed  bool
}

// submit queues a command. While the node does not answer, a command that does not last is refused: it is not sent,
// and onAnswer is not called.
//
// It never waits, and it may be called with the mutex of a hold held. Refusing what does not last keeps the
// queue of a frozen node short: only releases gather there, and their number is bounded.
func (q *sendQueue) submit(cmd *command) error {
	now, timeout := q.node.client.clock.Now(), q.node.client.timeout
	q.mu.Lock()
	defer q.mu.Unlock()
	cmd.at = q
	switch {
	case q.closed:
		return errClosed
	case cmd.lasting && len(q.urgent) >= maxLasting:
		return errSilent
	case cmd.lasting, cmd.patient && q.health.late(now, timeout):
	default:
		if err := q.health.refuses(now, timeout); err != nil {
			return err
		}
	}
	q.queueLocked(cmd)
	q.startLocked(now)
	return nil
}

func (q *sendQueue) queueLocked(cmd *command) {
	cmd.queued = true
	if cmd.urgent {
		q.urgent = append(q.urgent, cmd)
	} else {
		q.normal = append(q.normal, cmd)
	}
}

// cancel takes back a command that was not sent yet. onAnswer is not called for it.
func (cmd *command) cancel() bool {
	if cmd.at == nil {
		return false
	}
	cmd.at.mu.Lock()
	defer cmd.at.mu.Unlock()
	was := cmd.queued
	cmd.queued = false // the loop that takes commands skips it
	return was
}

// startLocked makes sure that a goroutine serves the queue, now or when something is due.
func (q *sendQueue) startLocked(now time.Duration) {
	if q.running || q.closed {
		return
	}
	at, ok := q.nextLocked()
	switch {
	case !ok:
	case at <= now:
		q.running = q.node.client.workers.spawn(q.run)
	case q.wake == nil:
		q.wakeAt = at
		q.wake = time.AfterFunc(at-now, q.timed)
	case at < q.wakeAt:
		q.wakeAt = at
		q.wake.Reset(at - now)
	}
}

func (q *sendQueue) timed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wake = nil
	q.startLocked(q.node.client.clock.Now())
}

// nextLocked returns when there is something to send.
func (q *sendQueue) nextLocked() (at time.Duration, ok bool) {
	for _, queue := range [][]*command{q.urgent, q.normal} {
		for _, cmd := range queue {
			if cmd.queued && (!ok || cmd.due < at) {
				at, ok = cmd.due, true
			}
		}
	}
	if q.health.failures > 0 {
		at = max(at, q.health.retryAt)
	}
	return at, ok
}

// run sends until nothing is left that may be sent now.
func (q *sendQueue) run() {
	for {
		batch := q.take()
		if len(batch) == 0 {
			return
		}
		q.send(batch)
	}
}

// take returns the next batch. An empty one means that the goroutine must end.
//
// The decision to end and the end of running are one critical section. A command that is queued before it is
// taken; one that is queued after it starts a new goroutine.
func (q *sendQueue) take() []*command {
	now := q.node.client.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*command
	if at, ok := q.nextLocked(); ok && at <= now && !q.closed {
		batch = takeFrom(&q.urgent, batch, now)
		batch = takeFrom(&q.normal, batch, now)
	}
	if len(batch) == 0 {
		q.running = false
		q.startLocked(now)
		return nil
	}
	q.health.begins(now)
	return batch
}

func takeFrom(queue *[]*command, batch []*command, now time.Duration) []*command {
	rest := (*queue)[:0]
	for _, cmd := range *queue {
		switch {
		case !cmd.queued:
		case cmd.due <= now && len(batch) < maxBatch:
			cmd.queued = false
			batch = append(batch, cmd)
		default:
			rest = append(rest, cmd)
		}
	}
	clear((*queue)[len(rest):])
	*queue = rest
	return batch
}

// send sends a batch, waits for its answers, and passes them to onAnswer. If the connection may have been forgotten,
// the batch is sent once more, by a new one.
//
// The limit is patience and not NodeTimeout, because the two answer different questions: callers stop waiting
// after NodeTimeout, but a reply that comes later is still worth reading, since it tells what the node has
// done. Client.life ends it early at Close.
func (q *sendQueue) send(batch []*command) {
	if silence := q.sendOnce(batch, nil); silence != nil {
		_ = q.sendOnce(batch, silence)
	}
}

// sendOnce sends a batch. It returns an error if that has to be repeated; silence is the error of the time before. A
// command of which only a copy was sent, and that is no longer needed, has that error.
func (q *sendQueue) sendOnce(batch []*command, silence error) error {
	c := q.node.client
	sent := c.clock.Now()
	asked := make([]*command, 0, len(batch))
	var calls []*luacall.Call[luacall.QuorumReply]
	for _, cmd := range batch {
		if call := cmd.make(sent); call != nil {
			asked, calls = append(asked, cmd), append(calls, call)
		} else if cmd.copied {
			q.settle(cmd, luacall.QuorumReply{}, silence)
		}
	}
	if len(calls) > 0 {
		suspected := q.exchange(calls, silence)
		if suspected != nil {
			for _, cmd := range asked {
				cmd.copied = true
			}
			return suspected
		}
	}
	now := c.clock.Now()
	var failed []*command
	var why error
	if len(calls) > 0 {
		failed, why = q.record(now, now-sent, broken(calls))
	} else {
		q.ended()
	}
	for i, cmd := range asked {
		reply := calls[i].Reply
		c.clocks.Observe(q.node.addr, sent, now, reply.Now)
		q.settle(cmd, reply, calls[i].Err)
	}
	for _, cmd := range failed {
		q.settle(cmd, luacall.QuorumReply{}, why)
	}
	return nil
}

// exchange sends calls. It returns their error if it is the connection that is suspected, and not the node. That is so
// if a node that is quick does not answer over a connection that is there, within half of NodeTimeout. If a connection
// has to be made, the limit moves (see [links.Within]).
func (q *sendQueue) exchange(calls []*luacall.Call[luacall.QuorumReply], silence error) (suspected error) {
	c := q.node.client
	ctx, cancel := context.WithTimeout(c.workers.life, c.patience)
	defer cancel()
	within := ctx
	limit := q.suspectsAfter()
	if silence != nil {
		limit = 0
	}
	if limit > 0 {
		within = links.Within(ctx, limit)
	}
	q.node.server.Send(within, calls)
	if limit == 0 || c.workers.life.Err() != nil {
		return nil
	}
	err := broken(calls)
	if timeout := net.Error(nil); !errors.As(err, &timeout) || !timeout.Timeout() || unsent(err) {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.health.suspects()
	return err
}

// suspectsAfter returns after how long the connection is suspected; 0: not before it is given up.
func (q *sendQueue) suspectsAfter() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.health.suspectsAfter(q.node.client.timeout)
}

// sendsAgain reports that what is under way is being sent for the second time.
func (q *sendQueue) sendsAgain() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.health.inFlight && q.health.again
}

// broken returns the error that shows that the link to the server failed, rather than a script.
func broken(calls []*luacall.Call[luacall.QuorumReply]) error {
	for _, call := range calls {
		if !answered(call.Err) {
			return call.Err
		}
	}
	return nil
}

// settle passes an answer to onAnswer, and sends the command again if onAnswer asks for it.
func (q *sendQueue) settle(cmd *command, reply luacall.QuorumReply, err error) {
	if !cmd.onAnswer(cmd, reply, err) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.queueLocked(cmd)
	}
}

func (q *sendQueue) ended() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.health.inFlight = false
}

// record notes what became of a pipeline. After a failure every command that does not last is given up.
func (q *sendQueue) record(now, took time.Duration, failure error) (failed []*command, why error) {
	var refused *refusal
	if errors.As(failure, &refused) {
		failure = refused // what go-redis has made of it has a text that does not change
	}
	q.mu.Lock()
	before := q.health.why
	if failure == nil {
		q.health.works(took, q.node.client.timeout)
	} else {
		q.health.fails(now, took, q.node.client.timeout, failure, refused)
		failed = append(giveUp(&q.urgent), giveUp(&q.normal)...)
	}
	q.mu.Unlock()
	switch {
	case failure == nil && before != nil:
		q.node.client.notices.node("node answers again", q.node, nil)
	case failure != nil && (before == nil || reason(before) != reason(failure)):
		q.node.client.notices.node("node has no vote", q.node, failure)
	}
	return failed, &unsentError{failure}
}

// giveUp removes the commands that do not last from a queue.
func giveUp(queue *[]*command) (failed []*command) {
	rest := (*queue)[:0]
	for _, cmd := range *queue {
		switch {
		case !cmd.queued:
		case cmd.lasting:
			rest = append(rest, cmd)
		default:
			cmd.queued = false
			failed = append(failed, cmd)
		}
	}
	clear((*queue)[len(rest):])
	*queue = rest
	return failed
}

// unsentError is the error of a command that was given up before it was sent.
type unsentError struct{ error }

func (u *unsentError) Unwrap() error { return u.error }

// close gives up everything. onAnswer is not called.
//
// A goroutine that is sending goes on until its pipeline ends, which Client.Close causes, and then finds
// nothing. The timer may fire at the same time; startLocked sees closed.
func (q *sendQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.urgent, q.normal = nil, nil
	if q.wake != nil {
		q.wake.Stop()
	}
}

// idle reports that there is nothing to wait for: nothing is queued or under way, or nothing is to be expected of the
// node.
func (q *sendQueue) idle() bool {
	now := q.node.client.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waiting := q.nextLocked()
	return !q.running && !waiting || q.health.waits(now, q.node.client.timeout)
}
