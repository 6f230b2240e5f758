package rwlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

const childLease = 2 * time.Second

// orders are what a child process is told.
type orders struct {
	Addr, Name string
	Side       string // read, write, or nested: a read hold inside a write hold
}

// holder takes a side, says so, and holds until it is killed.
var holder = role.New("holder", func(o orders) {
	client, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: o.Addr}), &rlock.ClientOptions{
		Lease: childLease, MaxPoll: childLease / 4, Logger: quiet,
	})
	role.Check(err)
	lock, ctx := rwlock.New(client, o.Name), context.Background()
	if o.Side != "read" {
		ctx, _, err = lock.Write().Lock(ctx)
		role.Check(err)
	}
	if o.Side != "write" {
		_, _, err = lock.Read().Lock(ctx)
		role.Check(err)
	}
	fmt.Println("held")
	role.Told()
})

func (l *lab) child(side string) *role.Process {
	l.Helper()
	return holder.Start(l, orders{Addr: l.server.Addr(), Name: l.name, Side: side})
}

// Bug 15, needs 19: whatever a killed process held is over with its own lease, though other readers renew the
// lock all the time; and not before.
func TestAKilledProcessIsOutWithItsOwnLease(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"read", "write", "nested"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			killed := l.child(side)
			killed.Hears("held")
			a := l.peer(rlock.ClientOptions{Lease: childLease})
			w := l.peer(rlock.ClientOptions{})
			var other *hold
			if side == "read" {
				h := a.read()
				other = &h
			}
			writer := w.wait(w.Write())
			l.listened()
			killed.Kill()
			at := time.Now()
			left := l.longest(other)
			if other != nil {
				a.renewals(3) // a lease, in which the dead reader's field is kept in the hash by a's renewals
				require.NoError(t, other.unlock())
			}
			h := l.arrives(writer)
			require.GreaterOrEqual(t, time.Since(at), left-time.Millisecond, "before the lease was over")
			require.Less(t, time.Since(at), patience/2)
			h.frees(t)
			l.clean()
		})
	}
}

// longest is what is left of the killed child's lease.
func (l *lab) longest(but *hold) (left time.Duration) {
	l.Helper()
	if but == nil {
		return l.rdb.PTTL(context.Background(), l.name).Val()
	}
	id := but.known(l).ID
	for field := range l.hash() {
		if field != "mode" && field != id {
			left = max(left, l.rdb.PTTL(context.Background(), l.holdKey(field, "1")).Val())
		}
	}
	require.Positive(l, left)
	return left
}

// A reader that is alone with a dead one is not kept in the lock by it, and the writer need not be told.
func TestADeadReaderDoesNotKeepAWriterOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	killed := l.child("read")
	killed.Hears("held")
	long := l.peer(rlock.ClientOptions{Lease: childLease}, rlock.FixedLease(time.Minute))
	h := long.read() // which makes the hash live for a minute
	require.NoError(t, h.unlock())
	w := l.peer(rlock.ClientOptions{})
	writer := w.wait(w.Write())
	killed.Kill()
	l.arrives(writer).frees(t)
	l.clean()
}

// A writer that waits and is killed leaves a gate, which opens by itself.
func TestAKilledWritersGateOpensByItself(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.read()
	killed := l.child("write")
	l.gated()
	later := b.wait(b.Read())
	killed.Kill()
	l.arrives(later).frees(t)
	first.frees(t)
	l.clean()
}

// A waiting reader that is killed is in nobody's way.
func TestAKilledWaiterIsInNobodysWay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	w := a.write()
	killed := l.child("read")
	l.listened()
	killed.Kill()
	redistest.Eventually(t, patience, func() bool {
		return l.rdb.PubSubNumSub(t.Context(), l.channel()).Val()[l.channel()] == 0
	}, "it still listens")
	w.frees(t)
	a.write().frees(t)
	l.clean()
}
