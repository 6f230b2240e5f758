package rwlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/rlock"
)

// Of very many readers Inspect lists some, says so and tells how many there are; Break ends them all
// (defect C5).
func TestInspectAndBreakOfVeryManyReaders(t *testing.T) {
	t.Parallel()
	l, ctx := newLab(t), context.Background()
	const readers = luacall.MaxInspected + 200
	fields := []any{"mode", "read"}
	pipe := l.rdb.Pipeline()
	for i := range readers {
		id := fmt.Sprintf("2b3f4a5c-0000-4000-8000-000000000000:%d", i)
		fields = append(fields, id, "1")
		pipe.Set(ctx, l.holdKey(id, "1"), "0", time.Hour)
	}
	pipe.HSet(ctx, l.name, fields...)
	pipe.PExpire(ctx, l.name, time.Hour)
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	p := l.peer(rlock.ClientOptions{})
	info, err := p.Read().Inspect(ctx)
	require.NoError(t, err)
	require.True(t, info.Truncated)
	require.InDelta(t, luacall.MaxInspected, len(info.Holders), 1)
	require.Equal(t, readers, info.Held)
	require.NoError(t, p.Read().Break(ctx))
	info, err = p.Read().Inspect(ctx)
	require.NoError(t, err)
	require.Equal(t, rlock.Info{}, info)
	p.write().frees(t)
	l.clean()
}
