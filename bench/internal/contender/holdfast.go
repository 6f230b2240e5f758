package contender

import (
	"context"
	"errors"
	"io"

	"github.com/holdfast-go/holdfast/rlock"
)

// oursClient is a client of this module, whatever kind of lock it makes.
type oursClient struct {
	client *rlock.Client // nil: over several servers
	make   func(names []string) rlock.Locker
	close  func() error
	closed []io.Closer // after the client: connections that it was derived from
}

func openOurs(t Target) (Client, error) {
	return openOver(t, func(client *rlock.Client, names []string) rlock.Locker {
		return rlock.New(client, names[0])
	})
}

// openOver opens a client of one server with whatever lock is made over it.
func openOver(t Target, lock func(*rlock.Client, []string) rlock.Locker) (Client, error) {
	rdb := t.connect(t.Addrs[0])
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: t.lease()})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &oursClient{
		client: client,
		make:   func(names []string) rlock.Locker { return lock(client, names) },
		close:  client.Close,
		closed: []io.Closer{rdb},
	}, nil
}

func (c *oursClient) Lock(names ...string) Lock { return &oursLock{lock: c.make(names)} }

func (c *oursClient) Close() error {
	err := c.close()
	for _, closer := range c.closed {
		err = errors.Join(err, closer.Close())
	}
	return err
}

type oursLock struct {
	lock   rlock.Locker
	unlock func() error
}

func (l *oursLock) Lock(ctx context.Context) error {
	_, unlock, err := l.lock.Lock(ctx)
	l.unlock = unlock
	return err
}

func (l *oursLock) TryLock(ctx context.Context) (bool, error) {
	_, unlock, err := l.lock.TryLock(ctx)
	l.unlock = unlock
	return tried(err, rlock.ErrBusy)
}

func (l *oursLock) Unlock() error { return l.unlock() }

// Nested is a handle whose Lock re-enters as often as it is called, and whose Unlock goes back a level.
type Nested struct {
	locks []rlock.Locker // of the levels
	ctxs  []context.Context
	frees []func() error
}

// Nest makes such a handle of a client of Ours, for so many levels.
func Nest(c Client, name string, levels int) *Nested {
	n := &Nested{}
	for range levels {
		n.locks = append(n.locks, c.(*oursClient).make([]string{name}))
	}
	return n
}

// Lock goes one level deeper.
func (n *Nested) Lock(ctx context.Context) error {
	if len(n.ctxs) > 0 {
		ctx = n.ctxs[len(n.ctxs)-1]
	}
	held, unlock, err := n.locks[len(n.ctxs)].Lock(ctx)
	if err == nil {
		n.ctxs, n.frees = append(n.ctxs, held), append(n.frees, unlock)
	}
	return err
}

// Unlock goes one level back.
func (n *Nested) Unlock() error {
	last := len(n.frees) - 1
	unlock := n.frees[last]
	n.ctxs, n.frees = n.ctxs[:last], n.frees[:last]
	return unlock()
}
