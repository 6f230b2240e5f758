package luacall

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

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
