package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/lua"
)

// shortfallError says that too few replicas confirmed a write that the primary made.
type shortfallError struct {
	got, want int
	err       error
}

func (s *shortfallError) Error() string {
	text := fmt.Sprintf("%d of %d replicas confirmed the write in time", s.got, s.want)
	if s.err != nil {
		text += ": " + s.err.Error()
	}
	return text
}

func (s *shortfallError) Unwrap() error { return s.err }

// script sends one script on conn and reports whether it wrote.
type script func(ctx context.Context, conn lua.Conn) (wrote bool, err error)

// exec runs one script for key within limit.
func (e *Engine) exec(
	ctx context.Context, x crash.Exchange, key string, limit time.Duration, run script,
) error {
	ctx = within(ctx, limit)
	return exchange(x, func() error {
		if e.cfg.MinReplicas == 0 {
			_, err := run(ctx, e.traffic)
			return err
		}
		return e.replicated(ctx, e.cfg.Links.Traffic, key, limit, run)
	})
}

// exchange sends by way of the crash points before and after it.
func exchange(x crash.Exchange, send func() error) error {
	if err := crash.At(x.Send); err != nil {
		return err
	}
	err := send()
	if lost := crash.At(x.Reply); lost != nil {
		return lost
	}
	return err
}

// replicated runs one script on a connection of its own and, if it wrote, has WAIT follow on the same
// connection: WAIT only knows of the writes of the connection that sends it, so on another one it would
// answer at once, and falsely. Such a connection follows no redirections, so that is done here.
func (e *Engine) replicated(
	ctx context.Context, client redis.UniversalClient, key string, limit time.Duration, run script,
) error {
	node, err := links.Node(ctx, client, key)
	if err != nil {
		return err
	}
	err = e.onNode(ctx, node, false, limit, run)
	addr, ask := redis.IsAskError(err)
	if !ask {
		var moved bool
		if addr, moved = redis.IsMovedError(err); !moved {
			return err
		}
		e.cfg.Links.Moved(ctx)
	}
	if node, err = links.NodeAt(ctx, client, addr); err != nil {
		return err
	}
	return e.onNode(ctx, node, ask, limit, run)
}

func (e *Engine) onNode(
	ctx context.Context, node *redis.Client, ask bool, limit time.Duration, run script,
) error {
	conn := node.Conn()
	defer func() { _ = conn.Close() }()
	wrote, err := run(ctx, &asking{Conn: conn, ask: ask})
	if err != nil || !wrote {
		return err
	}
	at, _ := ctx.Deadline()
	patience := max(time.Until(at)-waitSlack(limit), time.Millisecond)
	got, err := conn.Wait(ctx, e.cfg.MinReplicas, patience).Result()
	if err != nil || int(got) < e.cfg.MinReplicas {
		return &shortfallError{got: int(got), want: e.cfg.MinReplicas, err: err}
	}
	return nil
}

// waitSlack is what WAIT's own time limit falls short of the command's: an idle server looks at the
// limits of blocked clients ten times a second, and its answer is worth more than a broken connection.
func waitSlack(limit time.Duration) time.Duration {
	return min(max(limit/10, 120*time.Millisecond), limit/2)
}

// asking sends each command to a node that a slot is being moved to, which serves it only if it is
// asked to.
type asking struct {
	*redis.Conn
	ask bool
}

// Process implements lua.Conn.
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
