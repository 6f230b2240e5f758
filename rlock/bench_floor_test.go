package rlock_test

import (
	"math"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lua"
)

// BenchmarkBareScripts is what BenchmarkPair is to be compared with: go-redis running the two scripts of an
// uncontended lock, and nothing around them.
func BenchmarkBareScripts(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	ctx := b.Context()
	take := lua.AcquireArgs{
		Lock: "bare", Token: "redisson_lock_token:{bare}", ID: "bare:1",
		Lease: 30_000, NotAfter: math.MaxInt64, FenceTTL: 600_000,
	}
	free := lua.ReleaseArgs{Lock: "bare", ID: "bare:1", Channel: "redisson_lock__channel:{bare}"}
	b.ReportAllocs()
	for b.Loop() {
		if got, err := lua.Acquire(take).Run(ctx, rdb); err != nil || got.Status != lua.Held {
			b.Fatal(got, err)
		}
		if got, err := lua.Release(free).Run(ctx, rdb); err != nil || got.Status != lua.Done {
			b.Fatal(got, err)
		}
	}
}
