package redisstore

import (
	"context"

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
		return meaning(s.confirmed(ctx, s.links.Traffic, key, run))
	}
	_, err := run(ctx, s.traffic)
	return meaning(err)
}

// confirmed runs one script on its own connection and, if it wrote, sends WAIT or WAITAOF on the same connection:
// these cover only the writes of the connection that sends them, so on another one they would wrongly
// succeed at once. Such a connection follows no redirections, so this function does.
//
// It follows one redirection. A server that answers MOVED or ASK did not run the script, so the second node is
// the first to run it. If that one redirects too, the map of the slots is changing, and the error says so to
// the caller, whose next attempt starts from a newer map.
func (s *Store) confirmed(ctx context.Context, client redis.UniversalClient, key string, run script) error {
	node, err := links.Node(ctx, client, key)
	if err != nil {
		return err
	}
	err = s.onNode(ctx, node, false, run)
	addr, ask := redis.IsAskError(err)
	if !ask {
		var moved bool
		if addr, moved = redis.IsMovedError(err); !moved {
			return err
		}
		s.links.Moved(ctx)
	}
	if node, err = links.NodeAt(ctx, client, addr); err != nil {
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

// timed sends one script that must not be carried out late, on the connection for key.
func (s *Store) timed(ctx context.Context, key string, ask *store.Ask, send dated) (store.Receipt, error) {
	r := serverclock.Request{Node: s.Node(key), When: ask.Timing, First: ask.First.Late, Patience: ask.Patience}
	once := func(within serverclock.Window) (answer serverclock.Answer, err error) {
		run := func(ctx context.Context, conn luacall.Conn) (wrote bool, err error) {
			answer, wrote, err = send(ctx, conn, within)
			return wrote, err
		}
		err = s.exec(s.Within(ctx, ask.Within), key, run)
		return answer, err
	}
	return s.clocks.Send(ctx, s.host.Clock.Now, r, once)
}
