package lua

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Func returns a call that is carried out by a function, which has its own ways to Redis: to many nodes,
// say. It must keep to the context's deadline, and may be called again.
func Func[R any](run func(ctx context.Context) (R, error)) *Call[R] {
	return With(func(ctx context.Context, _ Conn) (R, error) { return run(ctx) })
}

// With is Func for a call that is several, one after the other, over the connection of Run or RunAll.
func With[R any](run func(ctx context.Context, conn Conn) (R, error)) *Call[R] {
	return &Call[R]{run: run}
}

// OrElse names the call that stands in while the slot of the keys is being moved: Redis then answers a
// script of several keys, of which one is not there, with TRYAGAIN for as long as that lasts. A script
// of one key always runs. It stands in as well where a server refuses the script for what it is. It returns c.
func (c *Call[R]) OrElse(single *Call[R]) *Call[R] {
	c.orElse = single
	return c
}

// standIn is what is to be sent after an error, or nil.
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

// runFunctions runs the calls that are functions side by side, and with them what else there is.
func runFunctions[R any](ctx context.Context, client Pipeliner, calls []*Call[R]) {
	var wg sync.WaitGroup
	var sent []*Call[R]
	conn, _ := client.(Conn) // those that make pipelines run single commands as well
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

// runStandIns runs what stands in for calls that were refused.
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
