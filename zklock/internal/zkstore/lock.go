package zkstore

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// Lock is the protocol of the lock of one name, which is fair: the caller that came first has it. It is constant.
//
// Each that wants it has a node below the lock's, which ends with its session, and whose name ends in a number that the
// servers give. The one with the first number has the lock. That is how Curator's InterProcessMutex and go-zookeeper's
// Lock do it, so they contend with this one.
type Lock struct {
	store  *Store
	name   string
	path   string
	traits *store.Traits
}

var (
	_ store.Protocol = (*Lock)(nil)
	_ store.Noter    = (*Lock)(nil)
)

// Lock returns the protocol of a name.
func (s *Store) Lock(name string) *Lock {
	return &Lock{store: s, name: name, path: s.pathOf(name), traits: s.traits()}
}

// LeastLease is the shortest session that servers grant by default: two of their ticks.
const LeastLease = 4 * time.Second

// BadLease is the error of an option with a lease that ZooKeeper cannot keep; nil if it can.
func BadLease(option string, lease time.Duration) error {
	if lease >= LeastLease {
		return nil
	}
	return &lock.ArgumentError{Name: option, Value: lease, Problem: "must be at least 4s"}
}

// traits are those of every lock of the store.
func (s *Store) traits() *store.Traits {
	return &store.Traits{
		Kind: string(lock.KindLock), Passes: true, Marks: true, Notes: true, Lasts: true,
		Stays: &lock.ArgumentError{
			Name: "lock", Problem: "cannot be exported: on ZooKeeper a hold hangs on its client's session",
		},
		CheckLease: func(option string, lease time.Duration) error {
			if err := BadLease(option, lease); err != nil {
				return err
			}
			if lease > s.lease {
				return &lock.ArgumentError{Name: option, Value: lease, Problem: fmt.Sprintf(
					"must not be longer than Options.Lease, which is %v and that of all locks of the client", s.lease)}
			}
			return nil
		},
	}
}

// Name implements [store.Rules].
func (l *Lock) Name() string { return l.name }

// Key implements [store.Rules].
func (l *Lock) Key() string { return l.name }

// Mode implements [store.Rules].
func (l *Lock) Mode() string { return "" }

// Channel implements [store.Rules].
func (l *Lock) Channel() string { return l.name }

// Excludes implements [store.Rules].
func (l *Lock) Excludes(string) bool { return true }

// Follows implements [store.Rules].
func (l *Lock) Follows(string) bool { return true }

// Inherits implements [store.Rules].
func (l *Lock) Inherits(string) bool { return true }

// Traits implements [store.Rules].
func (l *Lock) Traits() *store.Traits { return l.traits }

// Levels implements [store.Protocol]. It is not called: a count would cost a write, and nothing depends on it.
func (l *Lock) Levels(context.Context, string, int64, int64) (int64, error) {
	return 0, &store.Refused{Err: errUnsupported}
}

// Change implements [store.Protocol].
func (l *Lock) Change(context.Context, store.Change, store.Ask) (store.ChangeReply, store.Receipt, error) {
	return store.ChangeReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// Enqueue implements [store.Protocol]. A waiter has its place by asking.
func (l *Lock) Enqueue(context.Context, []store.Ask) (store.EnqueueReply, store.Receipt, error) {
	return store.EnqueueReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// Settled implements [store.Protocol].
func (l *Lock) Settled(string, store.Late) {}

// Serving implements [store.Protocol].
func (l *Lock) Serving([]string) store.Protocol { return l }

// Retaining implements [store.Protocol].
func (l *Lock) Retaining(int64, time.Duration, string) store.Protocol { return l }
