package fence

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Client sends a command to Redis: a *redis.Client, a *redis.ClusterClient, or any of the like.
type Client = luacall.Conn

// Redis guards keys of a Redis database. It is safe for concurrent use.
type Redis struct {
	client Client
	ttl    time.Duration
}

const defaultTTL = 7 * 24 * time.Hour

// NewRedis returns a guard over the application's client. Keep is for how long a key's newest token is kept after it
// was last written with one; zero means a week. It must be longer than a holder can be stopped.
func NewRedis(client Client, keep time.Duration) (*Redis, error) {
	switch {
	case client == nil:
		return nil, errors.New("holdfast: the client must not be nil")
	case keep == 0:
		keep = defaultTTL
	case keep < time.Second:
		return nil, errors.New("holdfast: a token must be kept for a second at least")
	}
	return &Redis{client: client, ttl: keep}, nil
}

// Do carries out one command on a key, whose first argument is that key (SET, HSET, INCRBY, DEL, EXPIRE, ...), unless a
// newer token was seen for the key: then the error is a *StaleError, and nothing was written. It returns what the
// command returned, nil for a nil reply. Args are what follows the key, 4,000 at most.
//
//	guard.Do(ctx, "report:17", hold.Fence, "HSET", "text", text, "at", now)
//
// The newest token is in holdfast_fence:{key}, in the slot of the key. The keys of other keys of a command are not
// guarded. If the reply is lost the command may have been carried out; the client may send it again by itself, as
// go-redis does.
func (g *Redis) Do(ctx context.Context, key string, token int64, command string, args ...any) (any, error) {
	switch {
	case g == nil || g.client == nil:
		return nil, errors.New("holdfast: the guard must come from NewRedis; its zero value is none")
	case ctx == nil:
		return nil, errors.New("holdfast: ctx must not be nil")
	}
	if err := errors.Join(checkToken(token), checkName(key)); err != nil {
		return nil, err
	}
	reply, err := luacall.Guard(luacall.GuardArgs{
		Key: key, Token: keys.Own("fence", key), Fence: token, TTL: g.ttl.Milliseconds(), Command: command, Args: args,
	}).Run(ctx, g.client)
	if err != nil {
		return nil, err
	}
	if reply.Newest > 0 {
		return nil, &StaleError{Name: key, Token: token, Newest: reply.Newest}
	}
	return reply.Value, nil
}
