package rlock_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const slotsLease = 6 * time.Second

// renewedHolds are locks that one client holds, and how often each was renewed.
type renewedHolds struct {
	t      *testing.T
	client *rlock.Client
	held   map[string]context.Context
	unlock map[string]func() error

	mu     sync.Mutex // guards counts
	counts map[string]int
}

func holdAll(t *testing.T, addr string, names ...string) *renewedHolds {
	t.Helper()
	h := &renewedHolds{t: t, counts: make(map[string]int), held: make(map[string]context.Context),
		unlock: make(map[string]func() error)}
	h.client = conductClient(t, addr, &rlock.ClientOptions{Lease: slotsLease, Observer: &rlock.Observer{
		Renewed: func(r rlock.Renewal) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if r.Err == nil {
				h.counts[r.Name]++
			}
		},
	}})
	for _, name := range names {
		h.held[name], h.unlock[name] = conductTake(t, conductCtx(t), rlock.New(h.client, name))
	}
	return h
}

// outlives waits until these holds, all if none are named, were renewed for longer than their lease.
func (h *renewedHolds) outlives(names ...string) {
	h.t.Helper()
	if len(names) == 0 {
		for name := range h.held {
			names = append(names, name)
		}
	}
	h.mu.Lock()
	clear(h.counts)
	h.mu.Unlock()
	redistest.Eventually(h.t, conductLimit, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, name := range names {
			if h.held[name].Err() == nil && h.counts[name] < 4 { // one every third of the lease
				return false
			}
		}
		return true
	}, "they are renewed")
	for _, name := range names {
		require.NoError(h.t, context.Cause(h.held[name]), name)
	}
}

func (h *renewedHolds) release() {
	h.t.Helper()
	for name, unlock := range h.unlock {
		require.NoError(h.t, unlock(), name)
	}
}

// rejected is how many scripts the server refused before it ran them.
func rejected(t *testing.T, server *redistest.Server) (n int) {
	t.Helper()
	if _, count, ok := strings.Cut(server.Info(t, "commandstats")["cmdstat_evalsha"], "rejected_calls="); ok {
		_, err := fmt.Sscanf(count, "%d", &n)
		require.NoError(t, err)
	}
	return n
}

// severalSlots matches a script with keys of more than one slot.
func severalSlots(r faultproxy.Request) bool {
	if !r.IsScript() {
		return false
	}
	n, err := strconv.Atoi(string(r.Args[2]))
	if err != nil {
		return false
	}
	for _, key := range r.Args[3 : 3+n] {
		if !keys.SameSlot(string(r.Args[3]), string(key)) {
			return true
		}
	}
	return false
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("name:", i))
	}
	return names
}

// Defect B4: an ordinary client before a server that wants the keys of a script in one slot, as a cluster of one
// node does by its address, and proxies before clusters. Its holds are renewed, and once it has learned that,
// it sends no script any more that is refused.
func TestAPlainClientBeforeAServerThatEnforcesSlots(t *testing.T) {
	t.Parallel()
	server := redistest.Cluster(t, 1).Node(0)
	h := holdAll(t, server.Addr(), numbered(50)...)
	h.outlives()
	var callers sync.WaitGroup
	rush := func() {
		for i := range 64 {
			callers.Go(func() {
				for turn := range 5 {
					lock := rlock.New(h.client, fmt.Sprint("rush:", i, turn))
					if err := lock.Do(conductCtx(t), func(context.Context) error { return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
		callers.Wait()
	}
	rush()
	before := rejected(t, server)
	rush()
	h.outlives()
	require.Equal(t, before, rejected(t, server), "it has learned")
	h.release()
	require.NoError(t, h.client.Close())
	require.Empty(t, conductHeldKeys(t, server))
}

// Defect B4: the server, or what comes to stand before it, begins to enforce slots while locks are held. What it
// says is not the same everywhere.
func TestSlotsAreEnforcedFromSomeMomentOn(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"as Redis says it":        "CROSSSLOT Keys in request don't hash to the same slot",
		"as some proxy says it":   "ERR eval/evalsha command keys must be in same slot",
		"as nobody has heard yet": "SPLIT these keys do not live together",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			h := holdAll(t, proxy.Addr(), numbered(20)...)
			h.outlives()
			require.Positive(t, proxy.Requests(severalSlots), "they share scripts")
			refused := proxy.On(severalSlots, faultproxy.AnswerError(says)).Times(-1)
			h.outlives()
			learned := refused.Fired()
			require.Positive(t, learned)
			h.outlives()
			require.Equal(t, learned, refused.Fired())
			h.release()
			require.Empty(t, conductHeldKeys(t, server))
		})
	}
}

// Defect B4: the answers to what is sent one by one are lost in the middle. The holds live, and no batch follows
// that is refused.
func TestAnswersLostAfterABatchWasRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	h := holdAll(t, proxy.Addr(), numbered(20)...)
	refused := proxy.On(severalSlots, faultproxy.AnswerError("CROSSSLOT no")).Times(-1)
	var single atomic.Int64
	lost := proxy.On(func(r faultproxy.Request) bool {
		return conductScript("renew")(r) && single.Add(1) == 7
	}, faultproxy.CutAfter)
	h.outlives()
	lost.Wait(t, 1)
	learned := refused.Fired()
	h.outlives()
	require.Equal(t, learned, refused.Fired())
	h.release()
	require.Empty(t, conductHeldKeys(t, server))
}

// Defect B4: a batch is refused because of one of its locks, which the user has no right to any more. The others
// are none the worse for it.
func TestARefusalForOneLockIsNotThatOfOthers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	h := holdAll(t, server.Addr(), "ours:1", "ours:2", "theirs", "ours:3")
	h.outlives()
	require.NoError(t, rdb.Do(t.Context(), "ACL", "SETUSER", "default", "resetkeys", "~ours:*", "~*ours*").Err())
	h.outlives("ours:1", "ours:2", "ours:3")
	<-h.held["theirs"].Done() // bounded by its lease
	require.ErrorIs(t, context.Cause(h.held["theirs"]), rlock.ErrLost)
	require.ErrorContains(t, context.Cause(h.held["theirs"]), "NOPERM")
}
