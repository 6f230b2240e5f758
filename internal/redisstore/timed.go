package redisstore

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

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
