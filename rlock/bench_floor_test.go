package rlock_test

import (
	"math"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// BenchmarkBareScripts is what BenchmarkPair is to be compared with: go-redis running the two scripts of an
// uncontended lock, and nothing around them.
func BenchmarkBareScripts(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	ctx := b.Context()
	take := luacall.AcquireArgs{
		Lock: "bare", Token: "redisson_lock_token:{bare}", ID: "bare:1",
		Lease: 30_000, NotAfter: math.MaxInt64, FenceTTL: 600_000,
	}
	free := luacall.ReleaseArgs{Lock: "bare", ID: "bare:1", Channel: "redisson_lock__channel:{bare}"}
	b.ReportAllocs()
	for b.Loop() {
		if got, err := luacall.Acquire(take).Run(ctx, rdb); err != nil || got.Status != luacall.Held {
			b.Fatal(got, err)
		}
		if got, err := luacall.Release(free).Run(ctx, rdb); err != nil || got.Status != luacall.Done {
			b.Fatal(got, err)
		}
	}
}
