package history

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// The kinds of lock that only one Redis has, each with a name that all clients contend for.
const (
	fairName    = "history-fair"
	rwName      = "history-rw"
	permitsName = "history-permits"
)

// leasesKey has the leases of the semaphore's permits, by the time of their ends.
const leasesKey = "{" + permitsName + "}:timeout"

// mostPermits is the capacity of the semaphore.
const mostPermits = 2

// takesAll reports that the clients take locks of every kind. Where Redis forgets they do not: a reader that it forgot
// may overlap writers, and a semaphore that it forgot has no capacity.
func (o orders) takesAll() bool { return o.Site.redis() && !o.Forgets }

// contended are the names of locks for which all clients contend.
func (o orders) contended() []string {
	if !o.takesAll() {
		return names
	}
	return slices.Concat(names, []string{fairName, rwName})
}

// maker returns what makes the handles of a name: for the name of a read-write lock those of its writers.
func (c *client) maker(name string) func(string, ...lock.Option) *lock.Lock {
	switch redis, _ := c.store.(*rlock.Client); name {
	case fairName:
		return func(name string, opts ...lock.Option) *lock.Lock { return fairlock.New(redis, name, opts...) }
	case rwName:
		return func(name string, opts ...lock.Option) *lock.Lock { return rwlock.New(redis, name, opts...).Write() }
	}
	return c.store.Lock
}

// read takes the read-write lock with other readers.
func (w *worker) read(op string, _ locks) {
	l := rwlock.New(w.client.store.(*rlock.Client), rwName).Read()
	w.enter(context.Background(), op, l, l.Lock, w.span())
}

// permit takes one of the semaphore's permits, and keeps it for longer than most locks are held, so that others want
// it.
func (w *worker) permit(op string, _ locks) {
	s := semaphore.New(w.client.store.(*rlock.Client), permitsName)
	take := func(ctx context.Context) (context.Context, func() error, error) { return s.Acquire(ctx, 1) }
	w.enter(context.Background(), op, s, take, w.span()+time.Duration(w.random.IntN(20))*time.Millisecond)
}

// set takes two locks as one, in any order.
func (w *worker) set(op string, _ locks) {
	which := w.random.Perm(len(names))
	members := []*lock.Lock{w.locks[names[which[0]]].plain, w.locks[names[which[1]]].plain}
	c := Call{Client: w.name, Op: op, Called: stamp.Now()}
	held, unlock, err := multilock.New(members).Lock(context.Background())
	first := w.arrive(c, members[0], held, err)
	if first == nil {
		return
	}
	second := *first
	second.Name, second.of = members[1].Name(), members[1]
	span, begun := w.span(), [2]bool{}
	var visits sync.WaitGroup
	for i, s := range []*stay{first, &second} {
		visits.Go(func() { begun[i] = s.visit(span, false) })
	}
	visits.Wait()
	w.left(first, begun[0] && begun[1], unlock())
}

// setCapacity gives the semaphore its capacity.
func setCapacity(o orders) error {
	store, hangUp, err := dialRedisFrom(o, new(net.Dialer).DialContext)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(semaphore.New(store.(*rlock.Client), permitsName).SetCapacity(ctx, mostPermits), hangUp())
}
