package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Defect D8: a server that evicts keys when it is full forgets locks, and says nothing. The client says so, once,
// when it first renews a hold, with the policy and what to set. It does not where nothing is evicted, or where it
// must not ask, and locks work all the same.
func TestAServerThatEvictsLocksIsWarnedOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		rules []any
		want  []string
	}{
		"volatile-ttl":           {args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl"}, want: []string{"volatile-ttl"}},
		"allkeys-lru":            {args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, want: []string{"allkeys-lru"}},
		"noeviction":             {args: []string{"--maxmemory", "100mb"}},
		"a policy, but no limit": {args: []string{"--maxmemory-policy", "allkeys-lru"}},
		"a user who must not ask": {
			args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, rules: []any{"-info"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.WithArgs(test.args...))
			renewed := make(chan error, 1)
			client, log := loggedClient(t, deniedUser(t, server, test.rules...), rlock.ClientOptions{
				Lease: slotsLease, Observer: &rlock.Observer{Renewed: func(_ string, err error) {
					select {
					case renewed <- err:
					default:
					}
				}},
			})
			_, unlock := conductTake(t, conductCtx(t), rlock.New(client, "l"))
			require.NoError(t, conductAwait(t, renewed, "it is renewed"))
			require.NoError(t, unlock())
			require.NoError(t, client.Close()) // by then everything is logged
			lines := log.warnings("maxmemory-policy")
			require.Len(t, lines, len(test.want))
			for i, policy := range test.want {
				require.Contains(t, lines[i], "set maxmemory-policy to noeviction")
				require.Contains(t, lines[i], "maxmemory-policy="+policy)
			}
		})
	}
}
