package luacall

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Conn runs one command: [*redis.Client], [*redis.ClusterClient], [*redis.Conn].
type Conn interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Pipeliner makes pipelines: [*redis.Client], [*redis.ClusterClient], [*redis.Conn].
type Pipeliner interface {
	Pipeline() redis.Pipeliner
}

// Call is one call of a script, ready to be sent once or again: every script recognises a second
// copy of itself. R is the type of the reply.
type Call[R any] struct {
	// Reply and Err are the result of the last [RunAll] that the call was part of.
	Reply R
	Err   error

	script  *script
	args    []any // of EVALSHA; never written after the call was made
	decode  func(value any) (R, error)
	ints    func(values []int64) (R, error) // set instead of decode: the reply is numbers
	invalid error                           // set: the call must not be sent
	orElse  *Call[R]
	ofOne   *script                                         // the same for one key, if the call has one
	run     func(ctx context.Context, conn Conn) (R, error) // set: instead of sending
}

// newCall returns a call of s with that many keys. The arguments begin with the keys.
func newCall[R any](s *script, keys int, decode func(any) (R, error), args ...any) *Call[R] {
	all := make([]any, 0, 3+len(args))
	all = append(all, "evalsha", s.sha, keys)
	return &Call[R]{script: s, args: append(all, args...), decode: decode}
}

// refuse returns a call that fails with err and is never sent.
func refuse[R any](err error) *Call[R] {
	return &Call[R]{invalid: err}
}

// Run sends the call and waits for the answer. Invalid arguments are an error before anything is
// sent. Run does not change the call, so a Run that go-redis abandoned when its context ended does
// not disturb the next one.
//
// If the server does not know the script yet, it answers EVALSHA with NOSCRIPT. Nothing was
// executed then, and Run sends the script in full. This is the only case in which Run sends twice.
func (c *Call[R]) Run(ctx context.Context, conn Conn) (R, error) {
	if c.invalid != nil {
		var none R
		return none, c.invalid
	}
	if c.run != nil {
		return c.run(ctx, conn)
	}
	cmd := c.command(ctx, c.args)
	err := conn.Process(ctx, cmd)
	if Unknown(err) {
		cmd = c.command(ctx, c.full())
		err = conn.Process(ctx, cmd)
	}
	if other := c.standIn(err); other != nil {
		return other.Run(ctx, conn)
	}
	return c.result(cmd, err)
}

// RunAll sends the calls in one pipeline, on a cluster in one per node, and stores in each its own
// Reply and Err. Calls whose script the server did not know follow in a second pipeline, and so do
// the stand-ins of calls refused by a slot migration. A call must not be in two RunAlls at the
// same time, nor twice in one.
func RunAll[R any](ctx context.Context, client Pipeliner, calls []*Call[R]) {
	if functions(calls) {
		runFunctions(ctx, client, calls)
		return
	}
	unknown := runPipeline(ctx, client, calls, false)
	if len(unknown) > 0 {
		runPipeline(ctx, client, unknown, true)
	}
	runStandIns(ctx, client, calls)
}

// runPipeline sends the calls, with their scripts in full or by digest, and returns those whose
// digest the server did not know.
func runPipeline[R any](
	ctx context.Context, client Pipeliner, calls []*Call[R], full bool,
) (unknown []*Call[R]) {
	pipe := client.Pipeline()
	sent := make([]redis.Cmder, len(calls))
	for i, c := range calls {
		if c.invalid != nil {
			c.Err = c.invalid
			continue
		}
		args := c.args
		if full {
			args = c.full()
		}
		sent[i] = c.command(ctx, args)
		_ = pipe.Process(ctx, sent[i]) // only queues
	}
	if pipe.Len() == 0 {
		return nil
	}
	_, failure := pipe.Exec(ctx)
	for i, c := range calls {
		if c.invalid != nil {
			continue
		}
		err := sent[i].Err()
		if err == nil && !answered(sent[i]) {
			// Never run: a hook of the client may have ended the pipeline before.
			err = failure
		}
		if !full && Unknown(err) {
			unknown = append(unknown, c)
			continue
		}
		c.Reply, c.Err = c.result(sent[i], err)
	}
	return unknown
}

// full returns the arguments of the same call with EVAL. They are a copy, because an abandoned Run
// may still be reading the original ones.
func (c *Call[R]) full() []any {
	args := append([]any(nil), c.args...)
	args[0], args[1] = "eval", c.script.source
	return args
}

// command makes the command to send: if the script returns only numbers, one that reads only
// those.
func (c *Call[R]) command(ctx context.Context, args []any) redis.Cmder {
	if c.ints != nil {
		return newOnceInts(ctx, args)
	}
	return newOnce(ctx, args)
}

func (c *Call[R]) result(cmd redis.Cmder, err error) (R, error) {
	if errors.Is(err, redis.Nil) {
		err = errNull
	}
	if err != nil {
		var none R
		return none, explain(classify(err), c.script.source.(string))
	}
	if ints, ok := cmd.(onceInts); ok {
		return c.ints(ints.Val())
	}
	return c.decode(cmd.(once).Val())
}
