package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// script sends one script on conn and reports whether it wrote.
type script[R any] func(ctx context.Context, conn luacall.Conn) (reply R, wrote bool, err error)

// exec runs one script for key.
//
// It sends the script once. Whether a script without an answer is sent again depends on what a second run of it
// would do, which package request knows.
func exec[R any](ctx context.Context, s *Store, key string, run script[R]) (R, error) {
	if s.confirm.asked() {
		reply, err := confirmed(ctx, s, s.links.Traffic, key, run)
		return reply, meaning(err)
	}
	reply, _, err := run(ctx, s.traffic)
	return reply, meaning(err)
}

// confirmed runs one script on its own connection and, if it wrote, sends WAIT or WAITAOF on the same connection:
// these cover only the writes of the connection that sends them, so on another one they would wrongly
// succeed at once. Such a connection follows no redirections, so this function does.
//
// It follows one redirection. A server that answers MOVED or ASK did not run the script, so the second node is
// the first to run it. If that one redirects too, the map of the slots is changing, and the error says so to
// the caller, whose next attempt starts from a newer map.
func confirmed[R any](
	ctx context.Context, s *Store, client redis.UniversalClient, key string, run script[R],
) (reply R, err error) {
	node, err := links.Node(ctx, client, key)
	if err != nil {
		return reply, err
	}
	reply, err = onNode(ctx, s, node, false, run)
	addr, ask := redis.IsAskError(err)
	if !ask {
		var moved bool
		if addr, moved = redis.IsMovedError(err); !moved {
			return reply, err
		}
		s.links.Moved(ctx)
	}
	if node, err = links.NodeAt(ctx, client, addr); err != nil {
		return reply, err
	}
	return onNode(ctx, s, node, ask, run)
}

// onNode sends the script and WAIT or WAITAOF. If that confirms too little, or its answer is lost, the script has
// been carried out all the same. So the error is a ShortfallError and comes with the script's reply: the caller
// has something to take back.
//
// Both can also count a replica that confirmed the write and is not promoted. It makes the loss of a hold in a
// failover less likely, and does not exclude it.
func onNode[R any](
	ctx context.Context, s *Store, node *redis.Client, ask bool, run script[R],
) (reply R, err error) {
	conn := node.Conn()
	defer func() { _ = conn.Close() }()
	limit := left(ctx)
	reply, wrote, err := run(ctx, &asking{Conn: conn, ask: ask})
	if err != nil || !wrote {
		return reply, err
	}
	return reply, s.confirm.await(ctx, conn, limit)
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

// dated is a reply that says whether its request came too late, and what the server's clock showed.
type dated interface {
	Dated() (tooLate bool, now int64)
}

// timed sends one script that must not be carried out late. Send sends it on conn, and reports whether it wrote.
func timed[R dated](
	ctx context.Context, s *Store, key string, ask store.Ask,
	send func(ctx context.Context, conn luacall.Conn, within serverclock.Window) (reply R, wrote bool, err error),
) (reply R, receipt store.Receipt, err error) {
	r := serverclock.Request{Node: s.Node(key), When: ask.Timing, First: ask.First.Late, Patience: ask.Patience}
	once := func(within serverclock.Window) (_ serverclock.Answer, err error) {
		run := func(ctx context.Context, conn luacall.Conn) (R, bool, error) { return send(ctx, conn, within) }
		reply, err = exec(s.Within(ctx, ask.Within), s, key, run)
		tooLate, now := reply.Dated()
		return serverclock.Answer{TooLate: tooLate, Now: now}, err
	}
	receipt, err = s.clocks.Send(ctx, s.host.Clock.Now, r, once)
	return reply, receipt, err
}
