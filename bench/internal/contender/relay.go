package contender

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// The least that one process can tell Redis to let go, and another one to take over: no token, no check
// of what stands at the key, no time.
var (
	relayTake = redis.NewScript(`if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)
	relayFree = redis.NewScript(`if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('PUBLISH', KEYS[2], ARGV[1])
return 1`)
)

type relayClient struct {
	rdb   *redis.Client
	lease int64
	id    string
	subs  []*redis.PubSub
}

// openRelay is go-redis handing a lock from one process to another by a message, with nothing around it.
// Nothing that asks Redis once it has heard of a release can be quicker: there are two trips through Redis
// in it, and goroutines at their ends that have to be woken.
func openRelay(t Target) (Client, error) {
	rdb := t.connect(t.Addrs[0])
	id, err := rdb.ClientID(context.Background()).Result()
	if err != nil {
		_ = rdb.Close()
		return nil, err
	}
	return &relayClient{rdb: rdb, lease: t.lease().Milliseconds(), id: "floor:" + strconv.FormatInt(id, 10)}, nil
}

// Lock subscribes already: whoever waits here has done so long before, and pays for it once.
func (c *relayClient) Lock(names ...string) Lock {
	channel := names[0] + ":free"
	sub := c.rdb.Subscribe(context.Background(), channel)
	c.subs = append(c.subs, sub)
	_, err := sub.Receive(context.Background())
	return &relayLock{client: c, sub: sub, err: err, keys: []string{names[0], channel}}
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
		took, err := relayTake.Run(ctx, l.client.rdb, l.keys, l.client.id, l.client.lease).Bool()
		if err != nil || took {
			return err
		}
		if err := l.wait(ctx); err != nil {
			return err
		}
	}
}

// wait returns when somebody else has let go. It reads on the waiter's own goroutine: go-redis's channel
// of messages would have to wake one more.
func (l *relayLock) wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = l.sub.Close() })()
	for {
		message, err := l.sub.ReceiveMessage(ctx)
		if err != nil || message.Payload != l.client.id {
			return err
		}
	}
}

func (l *relayLock) Unlock() error {
	freed, err := relayFree.Run(context.Background(), l.client.rdb, l.keys, l.client.id).Bool()
	if err == nil && !freed {
		err = fmt.Errorf("%s was not held", l.keys[0])
	}
	return err
}
