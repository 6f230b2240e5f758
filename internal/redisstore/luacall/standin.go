package luacall

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

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
