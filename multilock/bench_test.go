package multilock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// BenchmarkThree is Lock and unlock of three names that nobody else wants: two round trips.
func BenchmarkThree(b *testing.B) {
	c := client(b, redistest.Start(b).Client(b), nil)
	all := multilock.New([]*rlock.Lock{rlock.New(c, "a"), rlock.New(c, "b"), rlock.New(c, "c")})
	b.ReportAllocs()
	for b.Loop() {
		_, unlock, err := all.Lock(b.Context())
		require.NoError(b, err)
		require.NoError(b, unlock())
	}
}
