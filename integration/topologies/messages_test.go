package topologies

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// names are ways to write a name: without a hash tag, with one, and with braces that form none.
func names(word string) []string {
	return []string{
		word, "{" + word + "}", "{" + word + "}:a", "a:{" + word + "}:b", word + ":é ü", word + ":ends with {",
	}
}

// A waiter in another process is woken by a message, wherever the name is: nothing but a message can wake it here,
// because the poll interval and the lease are hours. A name that a kind cannot have on a topology is refused before
// anything is sent.
func TestNamesAndMessages(t *testing.T) {
	for _, top := range topologies {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			s := top.start(t)
			t.Cleanup(func() { s.clean(t) })
			for _, k := range s.kinds() {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					opts := rlock.ClientOptions{MaxPoll: never}
					if k.quiet {
						opts.MaxPoll = 0
					}
					holder, waiter := s.process(t, opts), s.process(t, opts)
					taken := 0
					for _, name := range names(strings.ReplaceAll(k.name, " ", "")) {
						if woken(t, s, k, holder, waiter, name) {
							taken++
						}
					}
					require.GreaterOrEqual(t, taken, 2, "names without and with a hash tag")
				})
			}
		})
	}
}

// woken makes one process hold and another one wait. It reports false if the kind refuses the name.
func woken(t *testing.T, s *site, k kind, holder, waiter *process, name string) bool {
	t.Helper()
	lease := rlock.FixedLease(never)
	if k.quiet {
		lease = rlock.FixedLease(holderLease)
	}
	held := enter(k.make(holder, name, lease))
	var bad *rlock.ArgumentError
	if errors.As(held.err, &bad) {
		require.Equal(t, "name", bad.Name)
		require.True(t, strings.ContainsAny(name, "{}"), "%s: %v", name, bad)
		return false
	}
	require.NoError(t, held.err, name)
	came := waiter.wait(t, k.other(waiter, name))
	if !k.quiet {
		heard(t, s, name)
	}
	standing(t, k, held, waiter, name)
	require.NoError(t, held.unlock(), name)
	require.NoError(t, arrives(t, came).unlock(), name)
	return true
}

// heard waits until somebody listens for the name, on a cluster with sharded channels on the node that serves it.
func heard(t *testing.T, s *site, name string) {
	t.Helper()
	word := strings.Trim(name, "{}")
	redistest.Eventually(t, patience, func() bool {
		for _, server := range s.primaries(t) {
			if slices.ContainsFunc(server.PubSubChannels(t), func(c string) bool {
				return strings.Contains(c, word)
			}) {
				return true
			}
		}
		return false
	}, "nobody listens for "+name)
	if major, _ := s.servers[0].Version(); s.cluster == nil || major < 7 {
		return
	}
	sharded := 0
	for _, server := range s.primaries(t) {
		rdb := server.Client(t)
		channels, err := rdb.PubSubShardChannels(within(t), "*"+strings.NewReplacer("{", "?", "}", "?").Replace(word)+"*").Result()
		require.NoError(t, err)
		require.NoError(t, rdb.Close())
		sharded += len(channels)
	}
	require.Positive(t, sharded, fmt.Sprintf("%s: the messages of a cluster are sharded", name))
}
