package malformed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// call is one kind of call.
type call struct {
	name string
	// prepare does what has to be done while the server is sound, and returns what is done when it is not.
	prepare func(ctx context.Context, l *lab) (do func(ctx context.Context) error, err error)
	match   faultproxy.Match // the requests that are answered by other than their replies
	limit   time.Duration    // 0: patience

	survives bool // it succeeds all the same
	mayPass  bool // some of the answers may be what it asked for
	cluster  bool
	quorum   bool
}

func anything(faultproxy.Request) bool { return true }

func greeting(r faultproxy.Request) bool { return r.Command() == "hello" }

func subscriptions(r faultproxy.Request) bool { return r.Command() == "subscribe" }

type locker interface {
	Lock(ctx context.Context) (held context.Context, unlock func() error, err error)
	TryLock(ctx context.Context) (held context.Context, unlock func() error, err error)
}

// taking is a call that asks for something.
func taking(name string, take func(l *lab, ctx context.Context) error) call {
	return call{
		name: name, match: faultproxy.AnyScript,
		prepare: func(_ context.Context, l *lab) (func(context.Context) error, error) {
			return func(ctx context.Context) error { return take(l, ctx) }, nil
		},
	}
}

// locking is Lock or TryLock of a kind of lock.
func locking(name string, of func(l *lab) locker) []call {
	return []call{
		taking(name+": Lock", func(l *lab, ctx context.Context) error {
			_, _, err := of(l).Lock(ctx)
			return err
		}),
		taking(name+": TryLock", func(l *lab, ctx context.Context) error {
			_, _, err := of(l).TryLock(ctx)
			return err
		}),
	}
}

// holding are the calls of a holder.
func holding(name string, of func(l *lab) locker) []call {
	under := func(
		what string, limit time.Duration, use func(ctx, held context.Context, unlock func() error) error,
	) call {
		return call{
			name: name + ": " + what, match: faultproxy.AnyScript, limit: limit,
			prepare: func(ctx context.Context, l *lab) (func(context.Context) error, error) {
				held, unlock, err := of(l).Lock(ctx)
				return func(ctx context.Context) error { return use(ctx, held, unlock) }, err
			},
		}
	}
	return []call{
		under("unlock", 0, func(_, _ context.Context, unlock func() error) error { return unlock() }),
		under("renewal", lease+slack, func(ctx, held context.Context, unlock func() error) error {
			select {
			case <-held.Done():
			case <-ctx.Done():
				return nil // it still has the lock, as it says
			}
			return errors.Join(context.Cause(held), unlock())
		}),
	}
}

func plain(l *lab) *rlock.Lock { return rlock.New(l.client, l.name) }

// waiting is a call that waits for what another client has, while its subscription gets no confirmation and no message.
func waiting(name string, of func(client *rlock.Client, name string) locker) call {
	return call{
		name: name + ": subscription", match: subscriptions, limit: 2 * slack, survives: true,
		prepare: func(ctx context.Context, l *lab) (func(context.Context) error, error) {
			_, unlock, err := of(l.direct, l.name).Lock(ctx)
			return func(ctx context.Context) error {
				free := time.AfterFunc(patience, func() { _ = unlock() })
				defer free.Stop()
				return patiently(ctx, of(l.client, l.name))
			}, err
		},
	}
}

// patiently takes a lock and releases it. On a busy machine a server that answers may count as away for a while.
func patiently(ctx context.Context, lock locker) error {
	for {
		_, unlock, err := lock.Lock(ctx)
		switch {
		case err == nil:
			return unlock()
		case ctx.Err() != nil || !errors.Is(err, rlock.ErrUnavailable):
			return err
		}
	}
}

func onQuorum(l *lab) locker { return redlock.New(l.quorum, l.name) }

// onOneNode are calls of a redlock one of whose three nodes answers so. The others answer, but on a busy machine
// perhaps not at once.
func onOneNode() []call {
	all := append(locking("redlock", onQuorum), holding("redlock", onQuorum)[:1]...)
	for i := range all {
		all[i].quorum, all[i].mayPass = true, true
		all[i].name += " with one bad node"
	}
	survivor := taking("redlock: one bad node", func(l *lab, ctx context.Context) error {
		return patiently(ctx, onQuorum(l))
	})
	survivor.quorum, survivor.survives, survivor.limit = true, true, 2*slack
	return append(all, survivor)
}

var calls = allCalls()

func allCalls() (all []call) {
	kinds := map[string]func(l *lab) locker{}
	order := []string{"rlock", "fairlock", "rwlock read", "rwlock write", "multilock"}
	kinds["rlock"] = func(l *lab) locker { return plain(l) }
	kinds["fairlock"] = func(l *lab) locker { return fairlock.New(l.client, l.name) }
	kinds["rwlock read"] = func(l *lab) locker { return rwlock.New(l.client, l.name).Read() }
	kinds["rwlock write"] = func(l *lab) locker { return rwlock.New(l.client, l.name).Write() }
	kinds["multilock"] = func(l *lab) locker {
		return multilock.New([]*rlock.Lock{rlock.New(l.client, l.name+"a"), rlock.New(l.client, l.name+"b")})
	}
	for _, name := range order {
		all = append(all, locking(name, kinds[name])...)
		all = append(all, holding(name, kinds[name])...)
	}
	all = append(all, onOneNode()...)
	all = append(all, numbers()...)
	all = append(all, others()...)
	return all
}

// numbers are the calls of semaphores and latches.
func numbers() []call {
	permits := func(l *lab) *semaphore.Semaphore { return semaphore.New(l.client, l.name) }
	counting := func(l *lab) *semaphore.Counting { return semaphore.NewCounting(l.client, l.name) }
	gate := func(l *lab) *latch.Latch { return latch.New(l.client, l.name) }
	return []call{
		taking("semaphore: Acquire", func(l *lab, ctx context.Context) error {
			_, _, err := permits(l).Acquire(ctx, 1)
			return err
		}),
		taking("semaphore: SetCapacity", func(l *lab, ctx context.Context) error {
			return permits(l).SetCapacity(ctx, 3)
		}),
		taking("semaphore: AddCapacity", func(l *lab, ctx context.Context) error {
			_, err := permits(l).AddCapacity(ctx, 1)
			return err
		}),
		taking("semaphore: Available", func(l *lab, ctx context.Context) error {
			_, err := permits(l).Available(ctx)
			return err
		}),
		taking("semaphore: Delete", func(l *lab, ctx context.Context) error { return permits(l).Delete(ctx) }),
		taking("semaphore: Inspect", func(l *lab, ctx context.Context) error {
			_, err := permits(l).Inspect(ctx)
			return err
		}),
		taking("counting: Acquire", func(l *lab, ctx context.Context) error { return counting(l).Acquire(ctx, 1) }),
		taking("counting: Release", func(l *lab, ctx context.Context) error { return counting(l).Release(ctx, 1) }),
		taking("counting: Drain", func(l *lab, ctx context.Context) error {
			_, err := counting(l).Drain(ctx)
			return err
		}),
		taking("latch: Set", func(l *lab, ctx context.Context) error { return gate(l).Set(ctx, 2) }),
		taking("latch: CountDown", func(l *lab, ctx context.Context) error { return gate(l).CountDown(ctx) }),
		taking("latch: Wait", func(l *lab, ctx context.Context) error { return gate(l).Wait(ctx) }),
	}
}

// others are what operators do, and what is asked for no lock.
func others() []call {
	greeted := taking("the greeting", func(l *lab, ctx context.Context) error {
		_, _, err := plain(l).TryLock(ctx)
		return err
	})
	greeted.match, greeted.mayPass = greeting, true
	mapped := taking("the map of a cluster", func(l *lab, ctx context.Context) error {
		_, _, err := plain(l).TryLock(ctx)
		return err
	})
	mapped.match, mapped.cluster = anything, true
	listed := taking("List", func(l *lab, ctx context.Context) (err error) {
		for _, bad := range operate.List(ctx, l.client, "*") {
			err = errors.Join(err, bad)
		}
		return err
	})
	listed.match, listed.mayPass = anything, true
	checked := taking("Check", func(l *lab, ctx context.Context) error {
		return fmt.Errorf("%v", operate.Check(ctx, l.client, l.name))
	})
	checked.match, checked.mayPass, checked.limit = anything, true, 2*slack
	exported := call{
		name: "rlock: Import", match: faultproxy.AnyScript,
		prepare: func(ctx context.Context, l *lab) (func(context.Context) error, error) {
			held, unlock, err := rlock.New(l.direct, l.name).Lock(ctx)
			if err != nil {
				return nil, err
			}
			_ = unlock // it is exported, or stays
			token, err := rlock.New(l.direct, l.name).Export(held)
			return func(ctx context.Context) error {
				_, _, err := plain(l).Import(ctx, token)
				return err
			}, err
		},
	}
	inspected := taking("rlock: Inspect", func(l *lab, ctx context.Context) error {
		_, err := plain(l).Inspect(ctx)
		return err
	})
	broken := taking("rlock: Break", func(l *lab, ctx context.Context) error { return plain(l).Break(ctx) })
	return []call{
		greeted, mapped, listed, checked, exported, inspected, broken,
		waiting("rlock", func(c *rlock.Client, name string) locker { return rlock.New(c, name) }),
		waiting("fairlock", func(c *rlock.Client, name string) locker { return fairlock.New(c, name) }),
		waiting("rwlock write", func(c *rlock.Client, name string) locker { return rwlock.New(c, name).Write() }),
	}
}
