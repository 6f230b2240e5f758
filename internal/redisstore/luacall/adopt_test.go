package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

const carol = "6f1d2c1e-cccc-4b6e-8b6f-000000000003:1"

// startServer is for tests that count, limit, flush or stop.
func startServer(t testing.TB, args ...string) *redistest.Server {
	t.Helper()
	return redistest.Start(t, redistest.WithArgs(args...))
}

func TestAdopt(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 2))
		token := p.stored()
		call := p.adopt(alice, bob)
		got := run(p, call)
		require.Equal(t, luacall.Held, got.Status)
		require.Positive(t, got.Now)
		p.heldOnce(bob)

		p.unchanged(func() {
			require.Equal(t, luacall.Already, run(p, call).Status)
			require.Zero(t, run(p, p.levels(alice, 2, 3)))
			require.Equal(t, luacall.Gone, run(p, p.adopt(alice, carol)).Status)
			require.Equal(t, luacall.Gone, run(p, p.release(alice)).Status, "the exporter is out")
		})
		require.Equal(t, token, p.stored())
		run(p, p.release(bob))
		require.Equal(t, luacall.Gone, run(p, call).Status)
		p.free()
		require.Equal(t, []string{"0"}, heard(), "bob's release alone")
	})
}

func TestAdoptBeyondNotAfter(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.unchanged(func() {
			got := run(p, luacall.Adopt(luacall.AdoptArgs{
				Lock: p.lock, From: alice, To: bob, Lease: lease, NotAfter: p.now() - 1,
			}))
			require.Equal(t, luacall.TooLate, got.Status)
			require.Positive(t, got.Now)
		})
	})
}

// What is minted for a hold is a range of its own, above all earlier ones, and changes nothing but the token. Where no
// hold stands nothing is minted (defect G47).
func TestMint(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		first := run(p, p.acquire(alice))
		require.Zero(t, first.Spare, "it is the name's first")
		got := run(p, p.mintFor(alice))
		require.Equal(t, luacall.Held, got.Status)
		require.Positive(t, got.Now)
		require.Greater(t, got.Fence-got.Spare, first.Fence)
		require.Equal(t, got.Fence, p.stored())
		copied := run(p, p.mintFor(alice))
		require.Greater(t, copied.Fence-copied.Spare, got.Fence)
		p.heldOnce(alice)
		p.unchanged(func() {
			require.Equal(t, luacall.Gone, run(p, p.mintFor(bob)).Status)
			late := luacall.MintArgs{Lock: p.lock, Token: p.token, ID: alice, NotAfter: p.now() - 1, FenceTTL: -1}
			require.Equal(t, luacall.TooLate, run(p, luacall.Mint(late)).Status)
		})
		run(p, p.release(alice))
		require.Equal(t, luacall.Gone, run(p, p.mintFor(alice)).Status)
		p.free()
		require.Greater(t, run(p, p.acquire(bob)).Fence, copied.Fence)
	})
}
