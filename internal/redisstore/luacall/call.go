package luacall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
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
	err := c.late(cmd, conn.Process(ctx, cmd))
	if Unknown(err) {
		cmd = c.command(ctx, c.full())
		err = c.late(cmd, conn.Process(ctx, cmd))
	}
	if other := c.standIn(err); other != nil {
		return other.Run(ctx, conn)
	}
	return c.result(cmd, err)
}

// late has a caller that left learn what the answer means that came then. A server that did not know the script, or got
// it too late, has carried nothing out, and that a request is impossible concerns nobody else: these are no outcomes.
func (c *Call[R]) late(cmd redis.Cmder, err error) error {
	left, ok := errors.AsType[*store.Left](err)
	if !ok {
		return err
	}
	outcome := left.Outcome
	left.Outcome = func() error {
		err := outcome()
		if _, refused := Capacity(err); refused || Unknown(err) {
			return store.ErrUnsent
		}
		reply, err := c.result(cmd, err)
		if late, ok := any(reply).(interface{ Late() bool }); ok && err == nil && late.Late() {
			return store.ErrUnsent
		}
		return err
	}
	return err
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

// Unknown reports that a server does not know the script that it was to run. It gets it in full then.
func Unknown(err error) bool {
	return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT")
}

// once is a command that go-redis sends only once. Its own retries, after a timeout or a lost
// connection, would run a script again without the caller knowing which attempt answered. A MOVED,
// ASK or READONLY answer is still followed: such a command did not run.
type once struct{ *redis.Cmd }

func newOnce(ctx context.Context, args []any) once {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3) // behind the digest and the number of keys
	return once{cmd}
}

// onceInts is once for a script that returns integers: each value is read as an integer, without
// checking for other types.
type onceInts struct{ *redis.IntSliceCmd }

func newOnceInts(ctx context.Context, args []any) onceInts {
	cmd := redis.NewIntSliceCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	return onceInts{cmd}
}

// answered reports that a command without an error was sent.
func answered(cmd redis.Cmder) bool {
	if ints, ok := cmd.(onceInts); ok {
		return ints.Val() != nil
	}
	return cmd.(once).Val() != nil
}

// NoRetry implements [redis.Cmder].
func (once) NoRetry() bool { return true }

// Clone implements [redis.Cmder]: a copy is sent only once as well.
func (o once) Clone() redis.Cmder {
	return once{o.Cmd.Clone().(*redis.Cmd)}
}

// NoRetry implements [redis.Cmder].
func (onceInts) NoRetry() bool { return true }

// Clone implements [redis.Cmder].
func (o onceInts) Clone() redis.Cmder {
	return onceInts{o.IntSliceCmd.Clone().(*redis.IntSliceCmd)}
}

// wrongLength is the error of a reply with the wrong number of values.
func wrongLength(values []int64, want int) error {
	return &ReplyError{fmt.Sprintf("%d integers instead of %d", len(values), want)}
}

// Func returns a call that is carried out by a function with its own connections to Redis, for instance to
// many nodes. It must respect the context's deadline, and may be called again.
func Func[R any](run func(ctx context.Context) (R, error)) *Call[R] {
	return With(func(ctx context.Context, _ Conn) (R, error) { return run(ctx) })
}

// With is Func for several calls, one after the other, over the connection of Run or RunAll.
func With[R any](run func(ctx context.Context, conn Conn) (R, error)) *Call[R] {
	return &Call[R]{run: run}
}

// OrElse sets the call that stands in while the slot of the keys is being migrated: Redis then answers a
// script of several keys, one of them absent, with TRYAGAIN for as long as that takes. A script of one key
// always runs. The call also stands in where a server refuses the script itself. OrElse returns c.
func (c *Call[R]) OrElse(single *Call[R]) *Call[R] {
	c.orElse = single
	return c
}

// standIn returns the call to send after an error, or nil.
func (c *Call[R]) standIn(err error) *Call[R] {
	refused := Refused(err) && !forbidden(err)
	switch {
	case c.orElse != nil && (refused || redis.IsTryAgainError(err)):
		return c.orElse
	case c.ofOne != nil && refused:
		one := &Call[R]{script: c.ofOne, args: slices.Clone(c.args), decode: c.decode, ints: c.ints}
		one.args[1] = c.ofOne.sha
		return one
	}
	return nil
}

func forbidden(err error) bool {
	var denied *DeniedError
	return errors.As(Explain(err), &denied)
}

func functions[R any](calls []*Call[R]) bool {
	for _, c := range calls {
		if c.run != nil {
			return true
		}
	}
	return false
}

// runFunctions runs the calls that are functions concurrently, and the others beside them.
func runFunctions[R any](ctx context.Context, client Pipeliner, calls []*Call[R]) {
	var wg sync.WaitGroup
	var sent []*Call[R]
	conn, _ := client.(Conn) // clients that make pipelines run single commands as well
	for _, c := range calls {
		if c.run == nil {
			sent = append(sent, c)
			continue
		}
		wg.Go(func() { c.Reply, c.Err = c.run(ctx, conn) })
	}
	if len(sent) > 0 {
		RunAll(ctx, client, sent)
	}
	wg.Wait()
}

// runStandIns runs the stand-ins of refused calls.
func runStandIns[R any](ctx context.Context, client Pipeliner, calls []*Call[R]) {
	var refused, singles []*Call[R]
	for _, c := range calls {
		if other := c.standIn(c.Err); other != nil {
			refused, singles = append(refused, c), append(singles, other)
		}
	}
	if len(singles) == 0 {
		return
	}
	RunAll(ctx, client, singles)
	for i, c := range refused {
		c.Reply, c.Err = singles[i].Reply, singles[i].Err
	}
}
