package luacall_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Readers who died with many levels are cleared away like others: an attempt that has asked for as many hold
// keys as it may reports the dead that it found, and the next one goes on from there. It answered that
// somebody lives, and the writer waited for the lease of the whole hash (defect B17).
func TestRWNestedDeadReadersAreClearedAway(t *testing.T) {
	for _, c := range []struct{ readers, depth, attempts int }{
		{20, 3, 1}, {22, 3, 2}, {32, 3, 2}, {1, 65, 1}, {3, 65, 3}, {2, 1000, 2}, {200, 3, 25},
	} {
		t.Run(fmt.Sprint(c.readers, " of depth ", c.depth), func(t *testing.T) {
			rwEverywhere(t, func(t *testing.T, p *rwPlace) {
				args := []any{"HSET", p.lock, "mode", "read"}
				for i := range c.readers {
					args = append(args, fmt.Sprintf("%s-%d:1", carol[:36], i), c.depth)
				}
				require.NoError(t, p.rdb.Do(t.Context(), args...).Err())
				p.do("PEXPIRE %s %d", p.lock, lease)
				attempts := 1
				reply := p.writeOver(bob)
				for ; reply.Status == luacall.Busy && attempts < 200; attempts++ {
					require.Zero(t, reply.PTTL, "somebody seems to live")
					reply = p.writeOver(bob)
				}
				require.Equal(t, luacall.Held, reply.Status)
				require.LessOrEqual(t, attempts, c.attempts)
			})
		})
	}
}

// A count that is no reader's is not walked to its end: the reader counts as alive, to be asked again in a
// second, also when the readers before it are dead.
func TestRWACountWithoutMeasureIsNotWalked(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		p.do("HSET %s mode read %s 1000000000", p.lock, alice)
		p.do("PEXPIRE %s %d", p.lock, lease)
		reply := p.writeOver(bob)
		require.Equal(t, luacall.Busy, reply.Status)
		require.Equal(t, int64(1000), reply.PTTL.Milliseconds())
		p.do("HSET %s %s 1", p.lock, dave)
		require.Equal(t, luacall.Busy, p.writeOver(bob).Status)
		require.Equal(t, int64(1000), p.writeOver(bob).PTTL.Milliseconds())
	})
}
