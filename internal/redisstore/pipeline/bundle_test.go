package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Calls that gather are sent in bundles, and each has the same result as by itself, whatever is at the keys of the
// others, and even if the server keeps forgetting its scripts.
func TestCallsThatGatherAreBundled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := newLabAt(t, server, patience)
	admin := server.Client(t)
	prefix := redistest.Key(t)
	stop := make(chan struct{})
	var flushes, callers sync.WaitGroup
	flushes.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = admin.ScriptFlush(context.Background()).Err()
			}
		}
	})
	var held atomic.Int64
	for i := range 64 {
		callers.Go(func() {
			name := fmt.Sprint("a", prefix, i)
			stranger := i%8 == 0
			if stranger && admin.Set(t.Context(), name, "x", 0).Err() != nil {
				t.Error("no stranger")
			}
			for turn := range 100 {
				id := fmt.Sprintf("client:%d:%d", i, turn)
				got, err := luacall.Acquire(luacall.AcquireArgs{
					Lock: name, Token: "token" + name, ID: id, Lease: 30_000, NotAfter: 1 << 60, FenceTTL: 1000,
				}).Run(context.Background(), l.pipe)
				if stranger {
					if !errors.Is(err, luacall.ErrConflict) {
						t.Error(err)
					}
					continue
				}
				if err != nil || got.Status != luacall.Held {
					t.Errorf("%v, %v", got, err)
					return
				}
				held.Add(1)
				gone, err := luacall.Release(luacall.ReleaseArgs{Lock: name, ID: id, Channel: "c"}).Run(context.Background(), l.pipe)
				if err != nil || gone.Status != luacall.Done {
					t.Errorf("%v, %v", gone, err)
					return
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	flushes.Wait()
	require.Equal(t, int64(56*100), held.Load())
	require.Positive(t, l.proxy.Requests(func(r faultproxy.Request) bool { return r.SHA() == luacall.SHA("acquire_many") }))
	require.Positive(t, l.proxy.Requests(func(r faultproxy.Request) bool { return r.SHA() == luacall.SHA("release_many") }))
}
