package topologies

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// migrationLease has a third that is long enough for a busy machine and short enough to see several.
const migrationLease = 6 * time.Second

// A slot moves while locks of every kind are held in it and waited for. Some keys have moved, for which the old
// node answers ASK, and some have not; in the end the new node has all, and the old one answers MOVED. No hold is
// lost meanwhile, each can be re-entered and unlocked, and every waiter gets the lock when the slot has moved.
func TestSlotMigration(t *testing.T) {
	t.Parallel()
	s := cluster(t)
	t.Cleanup(func() { s.clean(t) })
	for _, k := range s.kinds() {
		if k.name == "multilock" { // of several slots: each is a single lock there
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			migrate(t, s, k)
		})
	}
}

// moving allows one migration at a time: two nodes that send keys to each other wait for each other, and a node
// that is given a slot while another one is taken from it claims that again, with a newer epoch.
var moving sync.Mutex

func (s *site) move(t *testing.T, slot, from, to int, keys ...string) {
	t.Helper()
	moving.Lock()
	defer moving.Unlock()
	s.cluster.MoveKeys(t, slot, from, to, keys...)
	if len(keys) == 0 {
		s.cluster.FinishSlot(t, slot, to)
	}
}

func migrate(t *testing.T, s *site, k kind) {
	opts := rlock.ClientOptions{Lease: migrationLease, MaxPoll: 300 * time.Millisecond}
	holder := s.process(t, opts)
	opts.Lease *= 10 // for so long a waiter puts up with a server that refuses
	waiter := s.process(t, opts)
	tag := "slot of " + k.name
	slot := keys.Slot(tag)
	from := s.cluster.NodeFor(t, slot)
	to := (from + 1) % s.cluster.Len()
	name := func(word string) string { return "{" + tag + "}:" + word }

	held := make(map[string]stay)
	for _, word := range []string{"goes", "stays", "goes and is left", "stays and is left"} {
		held[word] = entered(t, k.make(holder, name(word)))
	}
	came := make(map[string]<-chan stay)
	for word := range held {
		came[word] = waiter.wait(t, k.other(waiter, name(word)))
	}
	s.cluster.SetSlotMigrating(t, slot, from, to)
	var carried []string
	for _, key := range s.cluster.Node(from).Keys(t) {
		if strings.Contains(key, "{"+tag+"}:goes") {
			carried = append(carried, key)
		}
	}
	require.NotEmpty(t, carried)
	s.move(t, slot, from, to, carried...)

	holder.renewedAgain(t, 3, len(held)*max(len(k.patterns), 1))
	for _, word := range []string{"goes", "stays"} {
		require.NoError(t, held[word].ctx.Err(), "%v", context.Cause(held[word].ctx))
		_, _, err := k.other(waiter, name(word)).TryLock(within(t))
		if !errors.Is(err, rlock.ErrUnavailable) { // its keys are here and there
			require.ErrorIs(t, err, rlock.ErrBusy)
		}
		again(t, k, held[word])
	}
	for _, word := range []string{"goes and is left", "stays and is left"} {
		require.NoError(t, held[word].unlock(), "in the middle of it")
		delete(held, word)
	}
	s.move(t, slot, from, to) // the rest
	holder.renewedAgain(t, 2, 2*max(len(k.patterns), 1))
	for word, h := range held {
		standing(t, k, h, waiter, name(word))
		again(t, k, h)
		require.NoError(t, h.unlock())
	}
	for _, c := range came {
		require.NoError(t, arrives(t, c).unlock())
	}
	require.Empty(t, holder.losses())
	require.Empty(t, waiter.losses())
	redistest.Eventually(t, patience, func() bool { return len(onNode(t, s, to, tag)) > 0 }, "nothing is at the new node")
	require.Empty(t, onNode(t, s, from, tag))
}

// again re-enters a hold, if the kind supports that.
func again(t *testing.T, k kind, s stay) {
	t.Helper()
	if k.lacks&conformance.Reentry != 0 {
		return
	}
	ctx, unlock, err := s.lock.Lock(s.ctx)
	require.NoError(t, err)
	hold, err := s.lock.Held(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, hold.Count)
	require.NoError(t, unlock())
}

func onNode(t *testing.T, s *site, node int, tag string) (found []string) {
	t.Helper()
	for _, key := range s.cluster.Node(node).Keys(t) {
		if strings.Contains(key, "{"+tag+"}") {
			found = append(found, key)
		}
	}
	return found
}
