package links

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// guard makes a panic in go-redis an error of the exchange in which it happened.
//
// What a server sends has passed package frames by then, and no bytes are known that pass and make go-redis panic. But
// its decoder is not ours, and a process with many locks must not end by what one server sends. go-redis takes the
// connection out of its pool before the panic comes here, so nobody reads the rest of a reply as his own.
//
// It is a hook, since it must run on the goroutine that reads, which for a cluster is one of go-redis's own.
type guard struct{}

// guarded adds a guard to a client, before any other hook.
func guarded(c *redis.Client) *redis.Client {
	c.AddHook(guard{})
	return c
}

func broken(panicked any) error { return fmt.Errorf("go-redis failed to read a reply: %v", panicked) }

// DialHook implements [redis.Hook].
func (guard) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		defer func() {
			if panicked := recover(); panicked != nil {
				err = broken(panicked)
				cmd.SetErr(err)
			}
		}()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook]. All commands get the error: of those whose reply had been read before,
// nobody knows which they are.
func (guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		defer func() {
			if panicked := recover(); panicked != nil {
				err = broken(panicked)
				for _, cmd := range cmds {
					cmd.SetErr(err)
				}
			}
		}()
		return next(ctx, cmds)
	}
}
