package rwlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// A lock without expiry, which some other program left, is told of by the error of either side, shown by
// Inspect of the side that has it, and ended by Break (defect C4).
func TestALockWithoutExpiryIsSeenAndBroken(t *testing.T) {
	t.Parallel()
	const a, b = "2b3f4a5c-0000-4000-8000-000000000000:1", "2b3f4a5c-0000-4000-8000-000000000000:2"
	for name, c := range map[string]struct {
		fields []any
		keys   []string // hold keys that there are, without expiry
		write  bool
		want   []string
	}{
		"a writer":                         {[]any{"mode", "write", a + ":write", "1"}, nil, true, []string{a}},
		"a reader":                         {[]any{"mode", "read", a, "1"}, []string{a}, false, []string{a}},
		"a reader whose lease is over":     {[]any{"mode", "read", a, "1"}, nil, false, []string{a}},
		"a reader with another that lives": {[]any{"mode", "read", a, "2", b, "1"}, []string{b}, false, []string{a, b}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, ctx := newLab(t), context.Background()
			p := l.peer(rlock.ClientOptions{})
			require.NoError(t, l.rdb.HSet(ctx, l.name, c.fields...).Err())
			for _, id := range c.keys {
				require.NoError(t, l.rdb.Set(ctx, l.holdKey(id, "1"), "0", 0).Err())
			}
			for _, side := range []*rlock.Lock{p.Read(), p.Write()} {
				_, _, err := side.TryLock(ctx)
				require.ErrorIs(t, err, rlock.ErrKeyConflict)
				require.ErrorContains(t, err, "without expiry")
				require.ErrorContains(t, err, "Break")
			}
			side := p.Read()
			if c.write {
				side = p.Write()
			}
			info, err := side.Inspect(ctx)
			require.NoError(t, err)
			var seen []string
			for _, holder := range info.Holders {
				seen = append(seen, holder.ID)
				require.Negative(t, holder.TTL)
			}
			require.ElementsMatch(t, c.want, seen)
			require.NoError(t, side.Break(ctx))
			p.write().frees(t)
			l.clean()
		})
	}
}
