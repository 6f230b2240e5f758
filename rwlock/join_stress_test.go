package rwlock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// R6, R4: many goroutines of one process read without a pause, one hold overlapping the other, most of them without a
// request. A writer of another process gets in time and again, and nobody reads meanwhile. Some of the readers nest,
// some have contexts that end, some a lease that nobody renews; nothing is left behind.
func TestReadersThatJoinKeepNoWriterOut(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	fixed := rwlock.New(a.client, l.name, rlock.FixedLease(never))
	var all sync.WaitGroup
	var stop, writing atomic.Bool
	var reads, scripts atomic.Int64
	read := func(ctx context.Context, side *rlock.Lock) error {
		return side.Do(ctx, func(held context.Context) error {
			if writing.Load() {
				t.Error("it reads while another writes")
			}
			if reads.Add(1)%7 == 0 {
				return a.Read().Do(held, func(context.Context) error { return nil })
			}
			time.Sleep(time.Duration(rand.N(500)) * time.Microsecond) // the reading
			return nil
		})
	}
	for i := range 32 {
		all.Go(func() {
			for turn := 0; !stop.Load(); turn++ {
				side := a.Read()
				if i == 0 && turn%100 == 0 {
					side = fixed.Read()
				}
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				if i < 4 && turn%10 == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.N(1000))*time.Microsecond)
				}
				err := read(ctx, side)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	before := l.scripts()
	for range 20 {
		seen := reads.Load()
		require.Eventually(t, func() bool { return reads.Load() > seen+200 }, patience, ms, "nobody reads")
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, unlock, err := b.Write().Lock(ctx)
		require.NoError(t, err, "the writer starves")
		writing.Store(true)
		time.Sleep(ms)
		writing.Store(false)
		require.NoError(t, unlock())
		cancel()
	}
	scripts.Store(l.scripts() - before)
	stop.Store(true)
	all.Wait()
	require.Less(t, scripts.Load(), 2*reads.Load(), "some joined")
	t.Logf("%d reads, %d scripts", reads.Load(), scripts.Load())
	l.clean()
}
