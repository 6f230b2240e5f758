package memquorum

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/quorum"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// The kinds of what goes over a [Link].
const (
	Connect memstore.Kind = "connect"
	Ask     memstore.Kind = "ask"
)

var (
	errBroken  = errors.New("memquorum: the connection broke")
	errDial    = &net.OpError{Op: "dial", Err: errors.New("memquorum: no answer")}
	errRefused = refused("LOADING the server refuses it now")
)

// refused is an answer of the server. It implements redis.Error.
type refused string

func (r refused) Error() string { return string(r) }

func (refused) RedisError() {}

// Link is one client's way to a server, of one connection at a time, which is made when it is needed. It implements
// [quorum.Server].
type Link struct {
	server  *Server
	client  int
	proxied bool // the connection outlives a restart of the server
	vet     quorum.Vet
	hangUp  func() // closes closed, once
	closed  chan struct{}
	broken  atomic.Bool // by Break
	sent    uint64
	run     int // of the server, to which it is connected; 0: it is not
}

// Node is the server in place of a client of the application, which has a number. Behind a proxy a connection outlives
// a restart of the server. Made gets the Link.
func (s *Server) Node(client int, proxied bool, made func(*Link)) *quorum.Node {
	return &quorum.Node{Addr: s.addr, Link: func(vet quorum.Vet) quorum.Server {
		l := &Link{server: s, client: client, proxied: proxied, vet: vet, closed: make(chan struct{})}
		l.hangUp = sync.OnceFunc(func() { close(l.closed) })
		made(l)
		return l
	}}
}

// Break ends the connection, of which the client learns by its next request.
func (l *Link) Break() { l.broken.Store(true) }

// Close implements [quorum.Server].
func (l *Link) Close() error {
	l.hangUp()
	return nil
}

// Acquire implements [quorum.Server].
func (l *Link) Acquire(a luacall.QuorumAcquireArgs) *quorum.Call {
	return call(func() luacall.QuorumReply { return l.server.acquireLocked(a) })
}

// Renew implements [quorum.Server].
func (l *Link) Renew(holds []luacall.QuorumHold, fenceTTL int64) *quorum.Call {
	return call(func() luacall.QuorumReply { return l.server.renewLocked(holds, fenceTTL) })
}

// Release implements [quorum.Server].
func (l *Link) Release(a luacall.ReleaseArgs) *quorum.Call {
	return call(func() luacall.QuorumReply { return l.server.releaseLocked(a) })
}

// Inspect implements [quorum.Server].
func (l *Link) Inspect(lock, token, _ string) *quorum.Call {
	return call(func() luacall.QuorumReply { return l.server.inspectLocked(lock, token) })
}

// call is carried out by Run, under the server's mutex.
func call(do func() luacall.QuorumReply) *quorum.Call {
	return luacall.Func(func(context.Context) (luacall.QuorumReply, error) { return do(), nil })
}

// Send implements [quorum.Server]. One batch at a time is under way, as a send queue of package redlock sends them.
func (l *Link) Send(ctx context.Context, calls []*quorum.Call) {
	if at, ok := ctx.Deadline(); ok { // of a connection: nothing else may end by it
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at)
		defer cancel()
	}
	replies, err := l.send(ctx, calls)
	for i, c := range calls {
		if c.Err = err; err == nil {
			c.Reply = replies[i]
		}
	}
}

func (l *Link) send(ctx context.Context, calls []*quorum.Call) ([]luacall.QuorumReply, error) {
	if l.run == 0 {
		if err := l.connect(ctx); err != nil {
			return nil, err
		}
	}
	run := l.run
	replies, err := exchange(ctx, l, Ask, func() ([]luacall.QuorumReply, error) {
		if l.server.run != run && !l.proxied {
			return nil, errBroken
		}
		var replies []luacall.QuorumReply
		for _, c := range calls {
			reply, _ := c.Run(ctx, nil)
			replies = append(replies, reply)
		}
		return replies, nil
	})
	if err != nil && !errors.Is(err, errRefused) || l.broken.Swap(false) {
		l.run = 0
	}
	return replies, err
}

// connect makes a connection to whatever runs there when it is made.
func (l *Link) connect(ctx context.Context) error {
	l.broken.Store(false)
	type told struct {
		quorum.About
		run int
	}
	var now told
	err := l.vet(func() (about quorum.About, err error) {
		now, err = exchange(ctx, l, Connect, func() (told, error) {
			return told{l.server.aboutLocked(), l.server.run}, nil
		})
		return now.About, err
	})
	if err == nil {
		l.run = now.run
	}
	return err
}

type outcome[R any] struct {
	reply R
	err   error
}

// exchange sends one request, which the server carries out by do, under its mutex, though nobody may wait for it any
// more, and a copy though the answer is there.
func exchange[R any](ctx context.Context, l *Link, kind memstore.Kind, do func() (R, error)) (R, error) {
	l.sent++
	fate := l.server.network.Fate(memstore.Request{Client: l.client, Nth: l.sent, Kind: kind, Key: l.server.addr})
	done := make(chan outcome[R], 1)
	answer := func(out outcome[R]) { after(fate.After, func() { done <- out }) }
	switch {
	case fate.Lost && kind == Connect:
		after(fate.Before, func() { answer(outcome[R]{err: errDial}) })
	case fate.Lost:
		after(fate.Before, func() { answer(outcome[R]{err: errBroken}) })
	default:
		if fate.Again > 0 && !fate.Refuse && kind != Connect {
			after(fate.Before+fate.Again, func() { l.server.carry(func() { _, _ = do() }) })
		}
		after(fate.Before, func() {
			l.server.carry(func() {
				var out outcome[R]
				if out.err = errRefused; !fate.Refuse {
					out.reply, out.err = do()
				}
				if fate.Mute {
					out = outcome[R]{err: errBroken}
				}
				answer(out)
			})
		})
	}
	var none R
	select {
	case out := <-done:
		return out.reply, out.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-l.closed:
		return none, errBroken
	}
}

// after calls fn in d, or now.
func after(d time.Duration, fn func()) {
	if d == 0 {
		fn()
		return
	}
	time.AfterFunc(d, fn)
}

var _ quorum.Server = (*Link)(nil)
