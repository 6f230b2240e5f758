package zookeeper

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
)

// groups are libraries that contend on one path. Curator and kazoo are in none together: see
// [TestRecipesThatDoNotExclude].
var groups = [][]kind{
	{ours, ours, curator, curator},
	{ours, goZooKeeper, curator},
	{ours, goZooKeeper, kazoo, kazoo},
}

// site is three servers, and the path of the lock.
type site struct {
	*zktest.Ensemble
	path string
}

func open(t *testing.T) *site {
	t.Helper()
	return &site{zktest.StartEnsemble(t, 3, zktest.Options{}), "/holdfast/locks/orders"}
}

// contenders starts one of each kind. Each prefers another server.
func (s *site) contenders(t *testing.T, kinds []kind, session time.Duration) (all []*contender) {
	t.Helper()
	for i, of := range kinds {
		all = append(all, s.contender(t, of, fmt.Sprintf("%s-%d", of, i), session))
	}
	return all
}

func (s *site) contender(t *testing.T, of kind, who string, session time.Duration) *contender {
	t.Helper()
	return start(t, of, orders{s.Addrs(), s.path, who, session})
}

// waits returns when n contenders have asked for the lock, its holder included.
func (s *site) waits(t *testing.T, n int) {
	t.Helper()
	zktest.Eventually(t, func() bool {
		nodes, err := s.Members[s.Leader(t)].Metric("zk_ephemerals_count")
		return err == nil && int(nodes) == n
	}, fmt.Sprintf("%d nodes of contenders", n))
}

// run has contenders take turns until all have had theirs.
func (b *book) run(t *testing.T, all []*contender, turns, micros int) {
	t.Helper()
	var hearing errgroup.Group
	for _, c := range all {
		c.Say(fmt.Sprintf("turns %d %d", turns, micros))
		hearing.Go(func() error { return c.hear(b) })
	}
	require.NoError(t, hearing.Wait())
}

func name(kinds []kind) string {
	var words []string
	for _, of := range kinds {
		words = append(words, string(of))
	}
	return strings.Join(words, ",")
}

// No two hold the lock at the same time, and nobody is starved: between two turns of one, each other one has few.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, kinds := range groups {
		t.Run(name(kinds), func(t *testing.T) {
			t.Parallel()
			s, b := open(t), &book{}
			const turns = 40
			b.run(t, s.contenders(t, kinds, 20*time.Second), turns, 6000)
			require.Len(t, b.holds, turns*len(kinds))
			require.Empty(t, witness.Overlaps(b.holds))
			most := b.longestWait()
			t.Logf("at most %d turns of others between two of one", most)
			require.Less(t, most, 4*len(kinds))
		})
	}
}

// Goroutines of one client pass the lock to one another without asking ZooKeeper, but not for long where others wait.
func TestCrowdOfOursStarvesNobody(t *testing.T) {
	t.Parallel()
	s, b := open(t), &book{}
	const turns = 20
	b.run(t, s.contenders(t, []kind{oursCrowd, curator, goZooKeeper}, 20*time.Second), turns, 2000)
	require.Len(t, b.holds, turns*(crowd+2))
	require.Empty(t, witness.Overlaps(b.holds))
	most := b.longestWait()
	t.Logf("at most %d turns of others between two of one", most)
	require.Less(t, most, 100)
}

// longestWait is how many turns of others there were at most between two turns of one, while all contended: from when
// the last one had its first turn to when the first one had its last.
func (b *book) longestWait() (most int) {
	slices.SortFunc(b.holds, func(x, y witness.Hold) int { return int(x.From - y.From) })
	first, last := make(map[string]time.Duration), make(map[string]time.Duration)
	for _, h := range b.holds {
		if _, had := first[h.Who]; !had {
			first[h.Who] = h.From
		}
		last[h.Who] = h.From
	}
	var from, to time.Duration
	for who := range first {
		from = max(from, first[who])
		if to == 0 || last[who] < to {
			to = last[who]
		}
	}
	since := make(map[string]int)
	for _, h := range b.holds {
		if h.From < from || h.From > to {
			continue
		}
		for who := range first {
			if who != h.Who {
				since[who]++
				most = max(most, since[who])
			}
		}
		since[h.Who] = 0
	}
	return most
}

// Contenders have the lock in the order in which they asked, by whichever library.
func TestOrderIsThatOfAsking(t *testing.T) {
	t.Parallel()
	for _, kinds := range groups {
		t.Run(name(kinds), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			all := s.contenders(t, slices.Concat(kinds, kinds), 20*time.Second)
			for i, c := range all {
				c.Say("lock")
				s.waits(t, i+1)
			}
			for i, c := range all {
				c.Hears("held")
				for _, later := range all[i+1:] {
					later.Silent("it waits for " + c.who)
				}
				c.Say("unlock")
				c.Hears("free")
			}
			s.waits(t, 0)
		})
	}
}

// A holder that is killed has the lock until its session ends, and then the others go on.
func TestHolderIsKilled(t *testing.T) {
	t.Parallel()
	const session = 4 * time.Second
	for _, kinds := range groups {
		t.Run(name(kinds), func(t *testing.T) {
			t.Parallel()
			s, b := open(t), &book{}
			all := s.contenders(t, kinds, session)
			for _, of := range slices.Compact(slices.Clone(kinds)) {
				victim := s.contender(t, of, "victim-"+string(of), session)
				killed := make(chan witness.Hold, 1)
				go func() { killed <- victim.dies() }()
				b.run(t, all, 20, 10_000)
				b.holds = append(b.holds, servers.Receive(t, patience, killed, "the victim held the lock"))
			}
			require.Empty(t, witness.Overlaps(b.holds))
			s.waits(t, 0)
		})
	}
}

// The death of a waiter wakes no other before its turn, and the others keep their order.
func TestWaitersAreKilled(t *testing.T) {
	t.Parallel()
	for _, kinds := range groups {
		t.Run(name(kinds), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			all := s.contenders(t, slices.Concat(kinds, kinds), 4*time.Second)
			for i, c := range all {
				c.Say("lock")
				s.waits(t, i+1)
			}
			all[0].Hears("held")
			for _, c := range all[1 : len(kinds)+1] { // one of each kind
				c.Kill()
			}
			all = slices.Delete(all, 1, len(kinds)+1)
			s.waits(t, len(all))
			for i, c := range all {
				if i > 0 {
					c.Hears("held")
				}
				for _, later := range all[i+1:] {
					later.Silent("it waits for " + c.who)
				}
				c.Say("unlock")
				c.Hears("free")
			}
		})
	}
}

// dies locks and is killed.
func (c *contender) dies() witness.Hold {
	c.Say("lock")
	c.Hears("held")
	hold := witness.Hold{Who: c.who, From: stamp.Now()}
	hold.To = stamp.Now()
	c.Kill()
	return hold
}

// Some recipes have queues of their own on the same path, or overlook others': these exclude nobody there.
func TestRecipesThatDoNotExclude(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, c := range []struct {
		holds, asks kind
		why         string
	}{
		{ours, kazooDefault, "it looks at nodes of kazoo alone"},
		{ours, semaphore, "it uses two folders below the path"},
		{curator, semaphore, "Curator's own recipes are no better"},
		{kazoo, curator, "Curator takes its own nodes for older than those of kazoo, by the letters of their names"},
	} {
		holder := s.contender(t, c.holds, "holder", 20*time.Second)
		holder.Say("lock")
		holder.Hears("held")
		other := s.contender(t, c.asks, "other", 20*time.Second)
		other.Say("lock")
		require.Equal(t, "held", other.Hear(), "%s, while %s holds: %s", c.asks, c.holds, c.why)
		other.Say("unlock")
		other.Hears("free")
		holder.Say("unlock")
		holder.Hears("free")
	}
}
