package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// stepBack gives keys the expiries that they have after the server's clock was set back by an hour.
func (p *rwPlace) stepBack(keys ...string) {
	for _, key := range keys {
		p.do("PEXPIRE %s 3600000", key)
	}
}

// An expiry from before a step back of the server's clock is put right by a renewal (defect A8). If the reader dies
// then, others wait for its lease, and not for the step too.
func TestARenewalOfAReaderAfterAStepBackOfTheClock(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.readFor(alice, lease))
		p.stepBack(p.lock, p.hold(alice, 1))
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p.place, p.renewRead(alice, lease)))
		p.holdKeys(alice, 1, lease)
		p.lives(p.lock, lease)

		p.stepBack(p.hold(alice, 1))
		extend := luacall.ExtendRead(p.hold(alice, 1), "", lease)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p.place, extend), "by a script of one key")
		p.holdKeys(alice, 1, lease)
	})
}

// Where others read too, they may need the lock for longer, and only the reader's own expiry is put right. Once all are
// renewed together, nobody needs it for longer.
func TestARenewalBesideOthersAfterAStepBackOfTheClock(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.readFor(alice, lease))
		run(p.place, p.readFor(bob, 2*lease))
		p.stepBack(p.lock, p.hold(alice, 1), p.hold(bob, 1))
		run(p.place, p.renewRead(alice, lease))
		p.holdKeys(alice, 1, lease)
		p.lives(p.lock, 3_600_000)
		run(p.place, luacall.RenewRead([]string{p.lock, p.lock}, []string{p.hold(alice, 1), p.hold(bob, 1)},
			[]string{alice, bob}, []int64{lease, 2 * lease}))
		p.holdKeys(alice, 1, lease)
		p.holdKeys(bob, 1, 2*lease)
		p.lives(p.lock, 2*lease)
	})
}

// So it is with a writer, inside whose hold others may read.
func TestARenewalOfAWriterAfterAStepBackOfTheClock(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, luacall.AcquireWrite(p.writeArgs(alice)))
		p.stepBack(p.lock)
		run(p.place, luacall.RenewWrite([]string{p.lock}, []string{alice}, []int64{lease}))
		p.lives(p.lock, lease)
		inside := p.readArgs(bob)
		inside.Under = alice
		run(p.place, luacall.AcquireRead(inside))
		p.stepBack(p.lock)
		run(p.place, luacall.RenewWrite([]string{p.lock}, []string{alice}, []int64{lease}))
		p.lives(p.lock, 3_600_000)
	})
}
