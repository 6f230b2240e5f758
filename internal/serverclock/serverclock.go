// Package serverclock estimates the clocks of servers from their answers, and sends requests that have no effect after
// a time of such a clock. It is for stores whose requests can look at a clock as they are carried out.
package serverclock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Clocks estimates each node's clock from the times that its answers tell. A request carries a
// not-after by that clock, and a node that receives it later refuses it. So an estimate need not be
// precise, only based on the past: one that is behind costs a refusal, which carries the right time;
// one that is ahead widens the window in which an abandoned request may still be carried out.
//
// An example: a request was sent at 100 ms by our clock, and its answer, received at 104 ms, says 5,000 ms. The
// node read its clock at some time in between, so it was ahead of ours by 4,896 to 4,900 ms: the offset is
// 4,898 ms, and the slack 2 ms. A request that is sent at 200 ms with a limit of 50 ms gets the not-after 5,148
// ms. The node is surely past it at 253 ms by our clock, and not yet surely at 251 ms.
//
// Nodes of a cluster come back under other addresses. When one is new, those go that Serves does not know any more.
type Clocks struct {
	// Serves reports that a node still serves keys, and does not wait; nil: all do. It is set before the first request.
	Serves func(node string) bool

	mu    sync.Mutex // guards all below
	nodes map[string]reading
	gone  *reading // the latest of those that went last; nil: none did
}

// reading is one answer: the server's clock was ahead of ours by offset, plus or minus slack.
type reading struct {
	offset, slack time.Duration
	at            time.Duration
}

// fade is how long a precise reading is preferred to a newer, less precise one.
const fade = 10 * time.Second

// NotAfter is the node's time, in µs, that lies limit ahead of now. It is 0 if nothing is known of the
// node, which then refuses the request and returns its time.
func (c *Clocks) NotAfter(node string, now, limit time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[node]
	if !ok {
		return 0
	}
	return (now + r.offset + limit).Microseconds()
}

// Left is how long it takes at most until the node's clock is past a time of its own, however far off the estimate may
// be; 0: it is past that.
//
// It takes the least that the node's clock can show, which the slack allows. It is used to conclude that a request can
// no longer be carried out, so it must not end too early; too late costs another look. Of a node of which nothing is
// known, because it has just taken over, the longest limit of a command is said.
func (c *Clocks) Left(node string, now time.Duration, notAfter int64) time.Duration {
	if notAfter == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.nodes[node]
	if !ok {
		return unknown
	}
	return max(time.Duration(notAfter+1)*time.Microsecond-(now+r.offset-r.slack), 0)
}

// unknown is what is left of a request to a node of which nothing is known: no command has a longer limit.
const unknown = 3 * time.Second

// Latest is the latest time that the node's clock may show now, in µs, however far off the estimate may be. Of a node
// of which nothing is known, because it has just taken over, it is the latest of all.
func (c *Clocks) Latest(node string, now time.Duration) (latest int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.nodes[node]; ok {
		return r.latest(now)
	}
	for _, r := range c.nodes {
		latest = max(latest, r.latest(now))
	}
	if c.gone != nil {
		latest = max(latest, c.gone.latest(now)) // it may have been this one, at another address
	}
	return latest
}

func (r reading) latest(now time.Duration) int64 { return (now + r.offset + r.slack).Microseconds() }

// Observe records a script's answer: its node's clock showed server, at some time between sent and
// received.
//
// Answers of one node may come in any order, on several connections. A reading is kept against a newer and less
// precise one for a while only, since clocks drift apart. If the two cannot both be true, because their ranges
// do not overlap, somebody set the server's clock, and the newer one counts.
func (c *Clocks) Observe(node string, sent, received time.Duration, server int64) {
	if server <= 0 {
		return
	}
	slack := (received - sent) / 2
	fresh := reading{
		offset: time.Duration(server)*time.Microsecond - (sent + slack),
		slack:  slack,
		at:     received,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.nodes[node]
	stepped := (fresh.offset - old.offset).Abs() > fresh.slack+old.slack
	if ok && !stepped && old.slack < fresh.slack && received-old.at < fade {
		return
	}
	if !ok {
		c.forgetLocked()
	}
	c.nodes[node] = fresh
}

// forgetLocked makes room for a node that is new.
func (c *Clocks) forgetLocked() {
	if c.nodes == nil {
		c.nodes = make(map[string]reading)
	}
	var gone *reading
	maps.DeleteFunc(c.nodes, func(node string, r reading) bool {
		if c.Serves == nil || c.Serves(node) {
			return false
		}
		if gone == nil || r.latest(0) > gone.latest(0) {
			gone = &r
		}
		return true
	})
	if gone != nil {
		c.gone = gone
	}
}

// Request is a request that must not be carried out late.
type Request struct {
	Node string
	When store.Timing

	// Of a request that the node remembers by its id: until when its first sending could be carried out (0: this is
	// the first), and for how long after that the node remembers it.
	First    store.Late
	Patience time.Duration
}

// Window is until when one sending of a request may be carried out, in µs of the node's clock.
type Window struct {
	NotAfter int64
	Until    int64 // when the node forgets the id; 0: it does not remember it
}

// Answer is what an answer says of the request and of the node's clock.
type Answer struct {
	TooLate bool  // the request did nothing, because it came too late
	Now     int64 // the node's time, in µs; 0: it is not told
}

// errClock is returned after three requests in a row that were late although they were sent by the node's own time.
var errClock = &store.Failure{
	Fault: store.FaultTransient, Err: errors.New("the clock of the server is changing too fast"),
}

// cut reports a time of which a server kept 32 bits: what a conversion leaves that cannot represent it.
func cut(micros int64) bool { return micros < 0 || micros == math.MaxInt32 }

// errCut is returned for a request that was late by a time that is none. No other request fares better.
func errCut(micros int64) error {
	return &store.Failure{Fault: store.FaultDefinite, Err: fmt.Errorf("it tells a time that makes no sense (%d µs): a "+
		"server that cuts numbers to 32 bits, as an emulation on a 32-bit system may, cannot keep locks; use a "+
		"real one", micros)}
}

// Send sends one request that must not be carried out late. Send tells its function until when, by the node's clock. A
// process that stops between the two sends the request when its time is over, and the node refuses it.
//
// A not-after that is 0 says that nothing is known of the node's clock. The node refuses such a request as late, and
// its answer tells the time. So the first request of a client to a node costs one round trip more, and no request ever
// relies on the client's wall clock. The same happens if the server's clock was set ahead. A request that was late did
// nothing, and is sent again, with a not-after by the time that was told; three that are late in a row mean a clock
// that runs away. The receipt is that of the last sending.
//
// For example, with an estimate that is two seconds behind the server's clock and a time limit of one second, a
// not-after lies a second in the past when the request arrives. "Late" costs a round trip and nothing else. With an
// estimate that is ahead, a copy may be carried out later than it need be, which only delays the clean-up: no lease
// and no validity depends on the estimate.
//
// A request that the node remembers by its id counts once, as long as no sending is carried out after the id was
// forgotten. Its first sending fixes when that is, since the node may have carried that one out, and none is sent with
// a later not-after. For example, with a patience of 5 s: the first sending at 10 s has a not-after of about 11 s by
// the node's clock, which forgets the id after 16 s. A process that is stopped for a minute in between sends a request
// that is refused.
func (c *Clocks) Send(
	ctx context.Context, now func() time.Duration, r Request, send func(Window) (Answer, error),
) (receipt store.Receipt, err error) {
	at := r.When.Sent
	for range 3 {
		window := c.window(r, at)
		answer, err := send(window)
		if err == nil && answer.TooLate && cut(answer.Now) {
			return store.Receipt{Since: at, Late: store.Late(window.NotAfter)}, errCut(answer.Now)
		}
		c.Observe(r.Node, at, now(), answer.Now)
		receipt = store.Receipt{Since: at, Late: store.Late(window.NotAfter)}
		switch {
		case err != nil || !answer.TooLate:
			return receipt, err
		case ctx.Err() != nil:
			return receipt, store.ErrUnsent // nobody waits for it any more
		}
		at = now()
	}
	return receipt, errClock
}

func (c *Clocks) window(r Request, at time.Duration) Window {
	w := Window{NotAfter: c.NotAfter(r.Node, at, r.When.Within)}
	if r.Patience == 0 || w.NotAfter == 0 {
		return w
	}
	first := int64(r.First)
	if first == 0 {
		first = w.NotAfter
	}
	w.Until = first + r.Patience.Microseconds()
	w.NotAfter = min(w.NotAfter, w.Until)
	return w
}

// Again is how soon a release is worth sending again that was carried out at a time of the node's clock; 0: nothing can
// take its id any more.
func Again(late store.Late, now int64) time.Duration {
	if now > int64(late) {
		return 0
	}
	return time.Duration(int64(late)-now)*time.Microsecond + time.Millisecond
}
