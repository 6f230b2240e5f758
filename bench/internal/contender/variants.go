package contender

import (
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

func init() {
	openers[OursFair] = openFair
	openers[OursKeep] = openKeep(time.Second)
	openers[OursBrief] = openKeep(time.Millisecond)
	openers[OursMulti] = openMulti
	openers[OursRed] = openRed
}

func openKeep(d time.Duration) Opener {
	return func(t Target) (Client, error) {
		return openOver(t, func(client *rlock.Client, names []string) rlock.Locker {
			return rlock.New(client, names[0], rlock.Keep(d))
		})
	}
}

func openFair(t Target) (Client, error) {
	return openOver(t, func(client *rlock.Client, names []string) rlock.Locker {
		return fairlock.New(client, names[0])
	})
}

func openMulti(t Target) (Client, error) {
	return openOver(t, func(client *rlock.Client, names []string) rlock.Locker {
		var locks []*rlock.Lock
		for _, name := range names {
			locks = append(locks, rlock.New(client, name))
		}
		return multilock.New(locks)
	})
}

// openRed opens a client over all the servers. They are as old as the measurement, and the guard that
// keeps a node out that was restarted a moment ago would keep all of them out.
func openRed(t Target) (Client, error) {
	var nodes []redis.UniversalClient
	var closed []io.Closer
	for _, addr := range t.Addrs {
		rdb := t.connect(addr)
		nodes, closed = append(nodes, rdb), append(closed, rdb)
	}
	client, err := redlock.NewClient(nodes, &redlock.Options{
		ClientOptions: rlock.ClientOptions{Lease: t.lease()}, NoRestartGuard: true,
	})
	if err != nil {
		for _, c := range closed {
			err = errors.Join(err, c.Close())
		}
		return nil, err
	}
	return &oursClient{
		make:   func(names []string) rlock.Locker { return redlock.New(client, names[0]) },
		close:  client.Close,
		closed: closed,
	}, nil
}
