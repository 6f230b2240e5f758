package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Confirmation is what must be confirmed of a write before anybody relies on it. The zero value is nothing.
type Confirmation struct {
	Replicas int  // so many have it
	Fsync    bool // they and the primary have it in their append-only files, on disk
}

// asked reports that there is something to wait for.
func (c Confirmation) asked() bool { return c.Replicas > 0 || c.Fsync }

// await waits until all that conn has written is confirmed, by one WAIT or WAITAOF, for what is left of the time of a
// request that began with limit. Without the confirmation its error is a ShortfallError.
func (c Confirmation) await(ctx context.Context, conn *redis.Conn, limit time.Duration) error {
	patience := max(left(ctx)-waitSlack(limit), time.Millisecond)
	is := &store.ShortfallError{Want: c.Replicas, Fsync: c.Fsync}
	if c.Fsync {
		got, err := conn.WaitAOF(ctx, 1, c.Replicas, patience).Result()
		switch {
		case err != nil:
			is.Err = lacksFsync(err)
		case len(got) != 2:
			is.Err = fmt.Errorf("WAITAOF was answered with %d numbers instead of two", len(got))
		default:
			is.Primary, is.Got = got[0] > 0, int(got[1])
		}
	} else {
		var got int64
		got, is.Err = conn.Wait(ctx, c.Replicas, patience).Result()
		is.Got = int(got)
	}
	if is.Short() {
		return is
	}
	return nil
}

// lacksFsync adds to a refusal of WAITAOF what the server must have. A refusal that passes, or that is about rights,
// says enough.
func lacksFsync(err error) error {
	refused := redis.Error(nil)
	if !errors.As(err, &refused) || luacall.Passes(err) || redis.IsPermissionError(err) {
		return err
	}
	return fmt.Errorf("ClientOptions.Fsync needs WAITAOF, which Redis has from 7.2 on and Valkey has, and appendonly "+
		"yes: %w", err)
}

// left is how long ctx still lasts. Its end may move while a connection is made.
func left(ctx context.Context) time.Duration {
	at, _ := ctx.Deadline()
	return time.Until(at)
}

// waitSlack is how much shorter the time limit of WAIT and WAITAOF is than the command's: an idle server checks the
// limits of blocked clients ten times a second, and its answer is worth more than a broken connection.
//
// With a limit of 1.6 s WAIT has 160 ms less than the command. With 600 ms it has 120 ms less, so that one of
// the server's checks (every 100 ms) fits in between. With 100 ms it has half, 50 ms, and the connection may
// have to be given up.
func waitSlack(limit time.Duration) time.Duration {
	return min(max(limit/10, 120*time.Millisecond), limit/2)
}
