package redistest

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const moveLimit = 10 * time.Second

// SetSlotMigrating begins the migration of a slot from one node to another: keys that are still at from are served
// there; absent ones are redirected to to.
func (l *ClusterLab) SetSlotMigrating(t testing.TB, slot, from, to int) {
	t.Helper()
	l.setSlot(t, to, slot, "importing", l.ids[from])
	l.setSlot(t, from, slot, "migrating", l.ids[to])
}

// MoveKeys moves keys of a migrating slot, or all of them if none are named.
func (l *ClusterLab) MoveKeys(t testing.TB, slot, from, to int, keys ...string) {
	t.Helper()
	target := l.nodes[to]
	ask(t, l.nodes[from], func(ctx context.Context, rdb *redis.Client) (string, error) {
		if len(keys) == 0 {
			var err error
			keys, err = rdb.ClusterGetKeysInSlot(ctx, slot, 1<<20).Result()
			if err != nil {
				return "", err
			}
		}
		for _, key := range keys {
			err := rdb.Migrate(ctx, "127.0.0.1", portOf(target), key, 0, moveLimit).Err()
			if err != nil {
				return "", err
			}
		}
		return "", nil
	})
}

// FinishSlot ends a migration: every node learns that the slot is served by to.
func (l *ClusterLab) FinishSlot(t testing.TB, slot, to int) {
	t.Helper()
	// The new node first: if it were the last to know, nobody would own the slot for a moment.
	l.setSlot(t, to, slot, "node", l.ids[to])
	for i := range l.nodes {
		if i != to {
			l.setSlot(t, i, slot, "node", l.ids[to])
		}
	}
}

func (l *ClusterLab) setSlot(t testing.TB, node, slot int, state, id string) {
	t.Helper()
	ask(t, l.nodes[node], func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.Do(ctx, "cluster", "setslot", slot, state, id).Text()
	})
}
