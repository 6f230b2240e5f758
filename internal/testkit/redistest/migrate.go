package redistest

import (
	"context"
	"slices"
	"strconv"
	"strings"
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
			err := rdb.Migrate(ctx, target.Host(), portOf(target), key, 0, moveLimit).Err()
			if err != nil {
				return "", err
			}
		}
		return "", nil
	})
}

// FinishSlot ends a migration: every node learns that the slot is served by to, and the epoch by which to claims it.
//
// A node that is given a slot takes a new epoch, unless the highest epoch that it knows of is its own. If it has not
// yet heard of the epoch of the migration before, its own may be lower than that of the slot's former owner. Then it
// loses the slot to what that owner has just told the others, and both redirect to each other.
func (l *ClusterLab) FinishSlot(t testing.TB, slot, to int) {
	t.Helper()
	// The new node first: if it were the last to know, nobody would own the slot for a moment.
	l.setSlot(t, to, slot, "node", l.ids[to])
	for i := range l.nodes {
		if i != to {
			l.setSlot(t, i, slot, "node", l.ids[to])
		}
	}
	Eventually(t, clusterLimit, func() bool { return l.settled(t, slot, to) }, "the nodes disagree on a slot")
}

// settled reports that all nodes say the same of a node: its epoch, and that it serves a slot.
func (l *ClusterLab) settled(t testing.TB, slot, at int) bool {
	t.Helper()
	epoch := ""
	for i := range l.nodes {
		text := ask(t, l.nodes[i], func(ctx context.Context, rdb *redis.Client) (string, error) {
			return rdb.ClusterNodes(ctx).Result()
		})
		says, serves := claims(text, l.ids[at], slot)
		if !serves || epoch != "" && says != epoch {
			return false
		}
		epoch = says
	}
	return true
}

// claims returns the epoch of a node, and whether it serves a slot, as an answer to CLUSTER NODES has it.
func claims(text, id string, slot int) (epoch string, serves bool) {
	const at, ranges = 6, 8 // in a line
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < ranges || fields[0] != id {
			continue
		}
		return fields[at], slices.ContainsFunc(fields[ranges:], func(part string) bool {
			first, last, several := strings.Cut(part, "-")
			if !several {
				last = first
			}
			from, err := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			return err == nil && err2 == nil && from <= slot && slot <= to // and no "[slot->-node]"
		})
	}
	return "", false
}

func (l *ClusterLab) setSlot(t testing.TB, node, slot int, state, id string) {
	t.Helper()
	ask(t, l.nodes[node], func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.Do(ctx, "cluster", "setslot", slot, state, id).Text()
	})
}
