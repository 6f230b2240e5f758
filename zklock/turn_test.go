package zklock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/zklock"
)

// A waiter behind the holder has its turn without asking for it, unless something has changed that it has to know.
func TestATurnWithoutAsking(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	plain := connect(t, server.Addr())
	for what, test := range map[string]struct {
		happens func(t *testing.T, name string, other *zklock.Client, sent *wire)
		asks    bool
	}{
		"nothing happens": {func(*testing.T, string, *zklock.Client, *wire) {}, false},
		"the base of tokens is raised": {
			func(t *testing.T, _ string, other *zklock.Client, _ *wire) {
				require.NoError(t, zklock.Rebase(within(t), other))
			}, true,
		},
		"another one comes behind it": {
			func(t *testing.T, name string, other *zklock.Client, _ *wire) {
				waits(t, plain, other.Lock(name), 3)
			}, false,
		},
		"a holder writes its note": {
			func(t *testing.T, name string, _ *zklock.Client, sent *wire) {
				first := plain.stand(t, pathOf(name), 2)[0]
				asked := sent.Count(listing)
				plain.writes(t, first.path, "a note")
				eventually(t, func() bool { return sent.Count(listing) > asked }, "it looks")
			}, false,
		},
	} {
		t.Run(what, func(t *testing.T) {
			sent := &wire{}
			holder, other := client(t, zklock.Options{}, server.Addr()), client(t, zklock.Options{}, server.Addr())
			c := client(t, zklock.Options{Dial: sent.Dial}, server.Addr())
			name := nameOf(t)
			held, unlock := take(t, holder.Lock(name))
			before := fenceOf(t, holder.Lock(name), held)
			got := waits(t, plain, c.Lock(name), 2)
			eventually(t, func() bool { return sent.Count(looking) >= 2 && sent.Count(reading) >= 2 }, "it waits")
			test.happens(t, name, other, sent)
			asked := sent.Count(listing)
			require.NoError(t, unlock())
			turn := has(t, got)
			require.Equal(t, test.asks, sent.Count(listing) > asked)
			require.Greater(t, fenceOf(t, c.Lock(name), turn.held), before)
			require.NoError(t, turn.unlock())
		})
	}
}

// A waiter has its turn, and a token above the one before, though what it asked when it began to wait was lost, or the
// answers.
func TestATurnOfAWaiterWhoseLookIsLost(t *testing.T) {
	t.Parallel()
	for way, fate := range failures {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			faults, name := &wire{}, nameOf(t)
			holder := client(t, zklock.Options{})
			held, unlock := take(t, holder.Lock(name))
			before := fenceOf(t, holder.Lock(name), held)
			rule := faults.On(looking, fate)
			c := client(t, zklock.Options{Lease: never / 6, Dial: faults.Dial})
			got := waits(t, connect(t, zktest.Shared(t).Addr()), c.Lock(name), 2)
			rule.Wait(t)
			require.NoError(t, unlock())
			turn := has(t, got)
			require.Greater(t, fenceOf(t, c.Lock(name), turn.held), before)
			require.NoError(t, turn.unlock())
		})
	}
}
