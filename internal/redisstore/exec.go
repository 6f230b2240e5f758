package redisstore

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// script sends one script on conn, and reports whether it wrote. The function keeps the reply, so that its hundred
// bytes are not handed up through everything between a lock and its server.
type script func(ctx context.Context, conn luacall.Conn) (wrote bool, err error)

// exec runs one script for key.
//
// It sends the script once. Whether a script without an answer is sent again depends on what a second run of it
// would do, which package request knows.
func (s *Store) exec(ctx context.Context, key string, run script) error {
	if s.confirm.asked() {
		return meaning(s.byCaller(ctx, key, run))
	}
	_, err := run(ctx, s.traffic)
	return meaning(err)
}

// byCaller is confirmed for a caller. Each of them keeps a connection for as long as replicas or disks take, so their
// number is bounded: renewals, which use the same connections, must not wait until one is free.
func (s *Store) byCaller(ctx context.Context, key string, run script) error {
	place := s.places.at(s.Node(key), s.links)
	if err := place.enter(ctx); err != nil {
		return err
	}
	defer place.leave()
	return s.confirmed(ctx, key, run)
}

// places are, by node, the places of callers that wait for confirmations.
type places struct {
	mu     sync.Mutex // guards byNode
	byNode map[string]place
}

func (p *places) at(node string, conns *links.Links) place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byNode == nil {
		p.byNode = make(map[string]place)
	}
	if p.byNode[node] == nil { // then those that were replaced go; who has a place there keeps it
		maps.DeleteFunc(p.byNode, func(one string, _ place) bool { return !conns.Serves(one) })
		p.byNode[node] = make(place, conns.Callers())
	}
	return p.byNode[node]
}

// place has room for one element per caller.
type place chan struct{}

// enter waits for a place until the deadline of ctx, which has no timer of its own.
func (p place) enter(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(left(ctx))
	defer timer.Stop()
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return store.ErrUnsent
	case <-timer.C:
		return redis.ErrPoolTimeout // as the wait for a connection ends
	}
}

func (p place) leave() { <-p }

// confirmed runs one script on its own connection and, if it wrote, sends WAIT or WAITAOF on the same connection:
// these cover only the writes of the connection that sends them, so on another one they would wrongly
// succeed at once. Such a connection follows no redirections, so this function does.
//
// It follows one redirection. A server that answers MOVED or ASK did not run the script, so the second node is
// the first to run it. If that one redirects too, the map of the slots is changing, and the error says so to
// the caller, whose next attempt starts from a newer map.
func (s *Store) confirmed(ctx context.Context, key string, run script) error {
	node, err := links.Node(ctx, s.links.Traffic, key)
	if err != nil {
		return err
	}
	err = s.onNode(ctx, node, false, func(ctx context.Context, conn luacall.Conn) (wrote bool, err error) {
		s.traffic.Beside(ctx, s.Node(key), func(ctx context.Context) error {
			wrote, err = run(ctx, conn)
			return err
		})
		return wrote, err
	})
	addr, ask, redirected := links.Redirected(err)
	if !redirected {
		return err
	}
	if !ask {
		s.links.Moved(ctx)
	}
	if node, err = links.NodeAt(ctx, s.links.Traffic, addr); err != nil {
		return err
	}
	return s.onNode(ctx, node, ask, run)
}

// onNode sends the script and WAIT or WAITAOF. If that confirms too little, or its answer is lost, the script has
// been carried out all the same. So the error is a ShortfallError, and the script has kept its reply: the caller has
// something to take back.
//
// Both can also count a replica that confirmed the write and is not promoted. It makes the loss of a hold in a
// failover less likely, and does not exclude it.
func (s *Store) onNode(ctx context.Context, node *redis.Client, ask bool, run script) error {
	conn := node.Conn()
	defer func() { _ = conn.Close() }()
	limit := left(ctx)
	wrote, err := run(ctx, &asking{Conn: conn, ask: ask})
	if err != nil || !wrote {
		return err
	}
	return s.confirm.await(ctx, conn, limit)
}

// asking precedes each command to the target node of a slot migration with ASKING, without which the
// node refuses to serve it.
type asking struct {
	*redis.Conn
	ask bool
}

// Process implements luacall.Conn.
func (a *asking) Process(ctx context.Context, cmd redis.Cmder) error {
	if !a.ask {
		return a.Conn.Process(ctx, cmd)
	}
	pipe := a.Pipeline()
	pipe.Do(ctx, "asking")
	_ = pipe.Process(ctx, cmd) // only queues
	_, err := pipe.Exec(ctx)
	if cmd.Err() != nil {
		return cmd.Err()
	}
	return err
}

// dated sends one script that is carried out within a window of the server's clock or not at all. It says what the
// answer shows of that clock, and whether the script wrote.
type dated func(ctx context.Context, conn luacall.Conn, within serverclock.Window) (
	answer serverclock.Answer, wrote bool, err error)

// answered is what a reply with that status and that time of the server says of its clock.
func answered(status luacall.Status, now int64) serverclock.Answer {
	return serverclock.Answer{TooLate: status == luacall.TooLate, Now: now}
}

// leastOfAll is how long a request may take with the connection that has to be made for it, if its limit is shorter. A
// limit that is longer holds for both together: a caller is promised that it returns by then. The exchange goes on, so
// the connection is there for the next request.
const leastOfAll = time.Second

// timed sends one script that must not be carried out late, on the connection for key.
func (s *Store) timed(ctx context.Context, key string, ask *store.Ask, send dated) (store.Receipt, error) {
	r := serverclock.Request{Node: s.Node(key), When: ask.Timing, First: ask.First.Late, Patience: ask.Patience}
	once := func(within serverclock.Window) (answer serverclock.Answer, err error) {
		run := func(ctx context.Context, conn luacall.Conn) (wrote bool, err error) {
			answer, wrote, err = send(ctx, conn, within)
			return wrote, err
		}
		err = s.exec(s.WithinAll(ctx, ask.Within, max(ask.Within, leastOfAll)), key, run)
		return answer, err
	}
	receipt, err := s.clocks.Send(ctx, s.host.Clock.Now, r, once)
	if left, ok := errors.AsType[*store.Left](err); ok {
		outcome := left.Outcome
		left.Outcome = func() error { return meaning(outcome()) }
	}
	return receipt, err
}
