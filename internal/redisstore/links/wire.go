package links

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Wires are the open connections of a client on which an exchange can be left before it ends: its caller
// returns, and the outcome shows later. By itself go-redis reads until the deadline of a command, whatever
// happens to its context meanwhile.
//
// An exchange is identified by its deadline, which go-redis sets on the command's connection just before it
// writes and again before it reads. So nothing records which exchange uses which connection; it suffices that
// all deadlines differ.
//
// mu is not held while a wire is asked: that takes Wire.mu, and Wire.Close takes the two in the opposite order.
type Wires struct {
	mu   sync.Mutex // guards open
	open map[*Wire]struct{}

	waiting atomic.Int32 // exchanges that wait for replies
}

// wrap makes a dialer register its connections.
func (ws *Wires) wrap(d dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &Wire{Conn: conn, wires: ws}
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if ws.open == nil {
			ws.open = make(map[*Wire]struct{})
		}
		ws.open[w] = struct{}{}
		if checked, ok := check(w); ok {
			return checked, nil
		}
		return w, nil
	}
}

// Leave makes the exchange with that deadline fail as if the deadline had passed. It returns nil if there is
// none, for instance before its connection was found. The caller must report the end of the call by
// [Wire.Ended].
//
// A wire that is opened after the copy was made is missed, and one that was closed refuses. The caller looks
// again until its call has returned, so it misses none that matters.
func (ws *Wires) Leave(at time.Time) *Wire {
	ws.mu.Lock()
	open := make([]*Wire, 0, len(ws.open))
	for w := range ws.open {
		open = append(open, w)
	}
	ws.mu.Unlock()
	for _, w := range open {
		if w.leave(at) {
			return w
		}
	}
	return nil
}

// Wire is one connection. Its methods are safe for concurrent use.
//
// An exchange goes through these steps, and may be left after the second:
//
//	SetDeadline(none)      go-redis takes the connection from its pool: next
//	SetWriteDeadline(at)   the exchange can be found by at from now on: silent, joint
//	Write
//	SetReadDeadline(at)    skipped, because the write deadline was set for both
//	Read                   the first byte ends silent
//	back to the pool, or Close after an error
//
// leave sets a deadline that has passed, so the write or the read that is under way returns, and so does one
// that begins later: setLocked keeps the deadline in the past for as long as it is asked for the same one.
type Wire struct {
	net.Conn
	wires *Wires

	mu     sync.Mutex // guards all below, and the order of deadlines
	at     time.Time  // of the exchange under way, or of the last one
	left   bool       // by its caller
	closed bool
	taken  time.Time // when it was taken from the pool for that exchange
	hot    bool      // and not long after the one before
	next   bool      // it was taken, and the exchange has no deadline yet
	silent bool      // it has a deadline, and nothing was read yet
	joint  bool      // reads have the deadline that was set for writes
}

// idleAfter is how long after the start of an exchange checking the peer becomes worthwhile.
const idleAfter = 10 * time.Millisecond

// past is a deadline that has passed.
var past = time.Unix(1, 0)

func (w *Wire) leave(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.left || at.IsZero() || !w.at.Equal(at) {
		return false
	}
	w.left = true
	_ = w.Conn.SetDeadline(past)
	return true
}

// Ended says that the call whose exchange was left has returned. It reports whether the exchange is still
// unsettled; otherwise its reply had arrived before, and the connection can be reused.
//
// Three things can have happened since the exchange was left. The read failed, and go-redis closed the
// connection: the exchange is unsettled, and the wire stays open for Settle. Or the reply had been read just
// before, and the connection is back in the pool: left is reset. Or it is in use again, with another deadline:
// then left was reset by that exchange, and this one must not touch it.
func (w *Wire) Ended(at time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.left || !w.at.Equal(at) {
		return false // and another exchange has begun since
	}
	w.left = w.closed
	return w.left
}

// Settle waits for the first byte of the reply to an exchange that was left, which shows that the server has
// carried it out; for the end of the connection; or for the deadline. Then it closes the connection.
//
// Nobody else reads by then, because go-redis has given the connection up. One byte is enough: a server writes
// the reply of a script only after the script has ended. The deadline that the exchange had anyway bounds the
// wait, and Links.Close ends it early by closing the connection.
func (w *Wire) Settle() {
	w.mu.Lock()
	_ = w.Conn.SetReadDeadline(w.at)
	w.mu.Unlock()
	var reply [1]byte
	_, _ = w.Conn.Read(reply[:])
	_ = w.Conn.Close()
	w.forget()
}

// SetDeadline implements [net.Conn]. go-redis calls it without a deadline to take the connection out of its
// pool: then the last exchange's deadline stays until the next one replaces it, or the peer is checked.
//
// Removing the deadline from the socket would be a call of its own for every exchange, and the next exchange
// sets another one anyway. A check of the peer in between would fail on a deadline that has passed, so warm
// removes it first.
func (w *Wire) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !t.IsZero() {
		return w.setLocked(t, w.Conn.SetDeadline)
	}
	now := time.Now()
	w.hot, w.taken, w.next = now.Sub(w.taken) < idleAfter, now, true
	w.at, w.left = t, false
	return nil
}

// warm reports that the connection was in use a moment ago. If it was not, warm removes its deadline.
func (w *Wire) warm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.hot {
		_ = w.Conn.SetDeadline(time.Time{})
	}
	return w.hot
}

// begins reports that the next read is the first one of an exchange.
//
// It decides which reads may poll: the rest of a reply follows its beginning at once.
func (w *Wire) begins() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	begins := w.silent
	w.silent = false
	return begins
}

// SetReadDeadline implements [net.Conn].
//
// Skipping is safe only for the same deadline of an exchange that was not left. Otherwise a read could run on
// without the deadline in the past that leave has set.
func (w *Wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.joint && !w.left && w.at.Equal(t) {
		return nil
	}
	return w.setLocked(t, w.Conn.SetReadDeadline)
}

// SetWriteDeadline implements [net.Conn]. The first one of an exchange also sets the read deadline, which
// spares a second call, except on a connection with a permanent reader, which is never taken from the pool.
func (w *Wire) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.next {
		return w.setLocked(t, w.Conn.SetWriteDeadline)
	}
	w.next, w.silent = false, true
	err := w.setLocked(t, w.Conn.SetDeadline)
	w.joint = err == nil
	return err
}

func (w *Wire) setLocked(t time.Time, deadline func(time.Time) error) error {
	if w.left && w.at.Equal(t) {
		return deadline(past)
	}
	w.at, w.left, w.joint = t, false, false
	return deadline(t)
}

// Close implements [net.Conn]. A wire that was left stays open until it is settled.
//
// If leave comes first, Close only marks the wire, and the goroutine that settles it closes the socket. If
// Close comes first, leave refuses. So exactly one of the two closes it, except that hangUp may close it as
// well.
func (w *Wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.left {
		return nil
	}
	w.forget()
	return w.Conn.Close()
}

// hangUp ends the exchanges that were left and are not settled. Nothing else is open by then.
func (ws *Wires) hangUp() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.open {
		_ = w.Conn.Close()
	}
}

func (w *Wire) forget() {
	w.wires.mu.Lock()
	defer w.wires.mu.Unlock()
	delete(w.wires.open, w)
}
