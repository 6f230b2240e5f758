package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// No hold's lease shortens what another needs (bug 45; Redisson's D3 and D11).
func TestRWLeasesInsideAWrite(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		short := p.readArgs(bob)
		short.Under, short.Lease = alice, 1000
		run(p.place, luacall.AcquireRead(short))
		p.lives(p.lock, lease)
		run(p.place, p.unread(bob))
		p.lives(p.lock, lease)

		long := p.readArgs(carol)
		long.Under, long.Lease = alice, 2*lease
		run(p.place, luacall.AcquireRead(long))
		p.lives(p.lock, 2*lease)
		run(p.place, p.unwrite(alice))
		p.lives(p.lock, 2*lease)
		p.holdKeys(carol, 1, 2*lease)
	})
}

// A reader whose hold key is gone is dead, whatever its field says.
func TestRWNothingBringsADeadReaderBack(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		run(p.place, p.read(bob))
		p.kill(alice)
		p.still(func() {
			require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p.place, p.renewRead(alice, lease)))
		})
		require.Equal(t, luacall.Gone, run(p.place, p.unread(alice)).Status)
		p.is("read", bob, "1")
	})
}
