package contender

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// handing is how a lock goes from one process to another by a message.
type handing struct {
	take, free *redis.Script
	grants     bool // the message says who has the lock now
}

// The least that one process can tell Redis to let go, and another one to take over: no token, no check
// of what stands at the key, no time.
var asked = handing{
	take: redis.NewScript(`if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`),
	free: redis.NewScript(`if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1`),
}

// The least by which a release can make the longest waiter the holder. It has no answer for waiters
// that died, and for messages that are lost.
var granted = handing{
	take: redis.NewScript(`if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('RPUSH', KEYS[3], ARGV[1])
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`),
	free: redis.NewScript(`if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
local next = redis.call('LPOP', KEYS[3])
if next then
  redis.call('HSET', KEYS[1], next, '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  redis.call('PUBLISH', KEYS[2], next)
end
return 1`),
	grants: true,
}

type relayClient struct {
	handing
	rdb   *redis.Client
	lease int64
	id    string
	subs  []*redis.PubSub
}

// openRelay is go-redis handing a lock from one process to another by a message, with nothing around it.
// Nothing that asks Redis once it has heard of a release can be quicker than asked: there are two trips
// through Redis in it, and goroutines at their ends that have to be woken. And nothing at all can be quicker
// than granted, in which there is one.
func openRelay(h handing) Opener {
	return func(t Target) (Client, error) {
		rdb := t.connect(t.Addrs[0])
		id, err := rdb.ClientID(context.Background()).Result()
		if err != nil {
			_ = rdb.Close()
			return nil, err
		}
		return &relayClient{
			handing: h, rdb: rdb, lease: t.lease().Milliseconds(), id: "floor:" + strconv.FormatInt(id, 10),
		}, nil
	}
}

// Lock subscribes already: a waiter here has done so long before, and pays for it once.
func (c *relayClient) Lock(names ...string) Lock {
	channel := names[0] + ":free"
	sub := c.rdb.Subscribe(context.Background(), channel)
	c.subs = append(c.subs, sub)
	_, err := sub.Receive(context.Background())
	return &relayLock{client: c, sub: sub, err: err, keys: []string{names[0], channel, names[0] + ":queue"}}
}

func (c *relayClient) Close() error {
	for _, sub := range c.subs {
		_ = sub.Close() // closed twice where somebody still waited
	}
	return c.rdb.Close()
}

type relayLock struct {
	client *relayClient
	sub    *redis.PubSub
	err    error // of the subscription
	keys   []string
}

func (l *relayLock) Lock(ctx context.Context) error {
	if l.err != nil {
		return l.err
	}
	for {
		took, err := l.client.take.Run(ctx, l.client.rdb, l.keys, l.client.id, l.client.lease).Bool()
		if err != nil || took {
			return err
		}
		if err := l.wait(ctx); err != nil || l.client.grants {
			return err
		}
	}
}

// wait returns when somebody else has let go, or given the lock to this client. It reads on the waiter's own
// goroutine: go-redis's channel of messages would have to wake one more.
func (l *relayLock) wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = l.sub.Close() })()
	for {
		message, err := l.sub.ReceiveMessage(ctx)
		if err != nil || (message.Payload == l.client.id) == l.client.grants {
			return err
		}
	}
}

func (l *relayLock) Unlock() error {
	freed, err := l.client.free.Run(context.Background(), l.client.rdb, l.keys, l.client.id, l.client.lease).Bool()
	if err == nil && !freed {
		err = fmt.Errorf("%s was not held", l.keys[0])
	}
	return err
}
