package contender

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// text is one of our scripts as go-redis wants it.
type text struct {
	sha, source string
	keys        []string
	args        []any
}

// take finds out what a call of package luacall sends, by answering its first sending as a server does that
// does not know the script.
func take[R any](call *luacall.Call[R]) text {
	var got text
	_, _ = call.Run(context.Background(), (*eavesdropper)(&got))
	return got
}

type eavesdropper text

// unknown is a server's answer; the method makes it one for go-redis.
type unknown struct{}

func (unknown) Error() string { return "NOSCRIPT No matching script." }
func (unknown) RedisError()   {}

func (e *eavesdropper) Process(_ context.Context, cmd redis.Cmder) error {
	args := cmd.Args()
	if args[0] == "eval" {
		e.source = args[1].(string)
		return errors.New("that is enough")
	}
	n := args[2].(int)
	e.sha = args[1].(string)
	for _, key := range args[3 : 3+n] {
		e.keys = append(e.keys, key.(string))
	}
	e.args = args[3+n:]
	return unknown{}
}

// scripter is what of go-redis the floors need.
type scripter interface {
	EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd
	Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd
	SetNX(ctx context.Context, key string, value any, expiry time.Duration) *redis.BoolCmd
}

// run is one script call of bare go-redis.
func (t *text) run(ctx context.Context, rdb scripter) error {
	err := rdb.EvalSha(ctx, t.sha, t.keys, t.args...).Err()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		err = rdb.Eval(ctx, t.source, t.keys, t.args...).Err()
	}
	return err
}

type floorClient struct {
	rdb   *redis.Client
	conn  scripter
	lease time.Duration
	names int
	setNX bool
}

// openScripts is go-redis running the two scripts of one or more locks that nobody else wants, with nothing around
// them: no identity, no watchdog, no context. Pipelined, it is what go-redis's own batching of many
// goroutines' commands makes of that.
func openScripts(pipelined bool) Opener {
	return func(t Target) (Client, error) {
		rdb := t.connect(t.Addrs[0])
		c := &floorClient{rdb: rdb, conn: rdb, lease: t.lease()}
		if pipelined {
			ap, err := rdb.AutoPipeline()
			if err != nil {
				return nil, errors.Join(err, rdb.Close())
			}
			c.conn = ap
		}
		return c, nil
	}
}

// openSetNX is the lock that everybody writes first.
func openSetNX(t Target) (Client, error) {
	rdb := t.connect(t.Addrs[0])
	return &floorClient{rdb: rdb, conn: rdb, lease: t.lease(), setNX: true}, nil
}

const compareAndDelete = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

func (c *floorClient) Lock(names ...string) Lock {
	c.names++ // handles are made by one goroutine
	name, id := names[0], "floor:"+strconv.Itoa(c.names)
	if c.setNX {
		free := redis.NewScript(compareAndDelete)
		return &setNXLock{client: c, name: name, id: id, free: text{
			sha: free.Hash(), source: compareAndDelete, keys: []string{name}, args: []any{id},
		}}
	}
	members, partings := make([]luacall.Member, len(names)), make([]luacall.Parting, len(names))
	for i, name := range names {
		acquire := luacall.AcquireArgs{
			Lock: name, Token: "redisson_lock_token:{" + name + "}", ID: id,
			Lease: c.lease.Milliseconds(), NotAfter: math.MaxInt64, FenceTTL: (7 * 24 * time.Hour).Milliseconds(),
		}
		release := luacall.ReleaseArgs{Lock: name, ID: id, Channel: "redisson_lock__channel:{" + name + "}"}
		if len(names) == 1 {
			taking, freeing := take(luacall.Acquire(acquire)), take(luacall.Release(release))
			return &scriptsLock{conn: c.conn, take: taking, free: freeing}
		}
		members[i] = luacall.Member{Acquirer: luacall.PrepareAcquire(acquire), Lease: acquire.Lease}
		partings[i] = luacall.Parting{Releaser: luacall.PrepareRelease(release), ID: id}
	}
	return &scriptsLock{
		conn: c.conn, take: take(luacall.AcquireAll(members, id, math.MaxInt64)),
		free: take(luacall.ReleaseAll(partings, false)),
	}
}

func (c *floorClient) Close() error { return c.rdb.Close() }

type scriptsLock struct {
	conn       scripter
	take, free text
}

func (l *scriptsLock) Lock(ctx context.Context) error { return l.take.run(ctx, l.conn) }
func (l *scriptsLock) Unlock() error                  { return l.free.run(context.Background(), l.conn) }

type setNXLock struct {
	client   *floorClient
	name, id string
	free     text
}

func (l *setNXLock) Lock(ctx context.Context) error {
	ok, err := l.client.conn.SetNX(ctx, l.name, l.id, l.client.lease).Result()
	if err == nil && !ok {
		err = fmt.Errorf("%s is not free, and a floor does not wait", l.name)
	}
	return err
}

func (l *setNXLock) Unlock() error { return l.free.run(context.Background(), l.client.conn) }
