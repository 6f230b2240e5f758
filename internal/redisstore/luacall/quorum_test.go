package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

const quorumWindow = int64(15_000_000)

// quorumAsk is an acquisition that proposes a token.
func (p *place) quorumAsk(id string, fence int64) luacall.QuorumAcquireArgs {
	return luacall.QuorumAcquireArgs{
		Lock: p.lock, Token: p.token, ID: id, Lease: lease, NotAfter: never, Fence: fence,
		Window: quorumWindow, FenceTTL: fenceTTL,
	}
}

func (p *place) quorumRenew(id string, ttl, fence int64) *luacall.Call[luacall.QuorumReply] {
	return luacall.QuorumRenew([]luacall.QuorumHold{
		{Lock: p.lock, Token: p.token, ID: id, TTL: ttl, Fence: fence},
	}, fenceTTL)
}

// A node takes the token that it is offered if that is above the stored one, not behind its clock, and not
// far ahead of it. Else it grants all the same, and says what it would take.
func TestQuorumAcquireTakesTheTokenItIsOffered(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		ahead := p.now() + 5_000_000
		got := run(p, luacall.QuorumAcquire(p.quorumAsk(alice, ahead)))
		require.Equal(t, luacall.Held, got.Status)
		require.True(t, got.Accepted)
		require.Equal(t, ahead, got.Fence)
		require.Equal(t, ahead, p.stored())
		p.heldOnce(alice)
		require.Greater(t, p.pttl(p.token), time.Duration(fenceTTL)*time.Millisecond)

		run(p, p.release(alice))
		for name, fence := range map[string]int64{
			"not above":           ahead,
			"behind the clock":    p.now() - 1_000_000,
			"far ahead":           p.now() + 10*quorumWindow,
			"nothing is proposed": 0,
		} {
			got = run(p, luacall.QuorumAcquire(p.quorumAsk(bob, fence)))
			require.Equal(t, luacall.Held, got.Status, name)
			require.False(t, got.Accepted, name)
			require.Equal(t, ahead+64, got.Fence, name)
			require.Equal(t, ahead, p.stored(), "what is not accepted is not stored")
			p.heldOnce(bob)
			run(p, p.release(bob))
		}
		p.do("DEL %s", p.token)
		got = run(p, luacall.QuorumAcquire(p.quorumAsk(bob, 7)))
		require.False(t, got.Accepted)
		require.Equal(t, got.Now, got.Fence, "the least it takes is its clock")
		require.Zero(t, p.stored())
	})
}

func TestQuorumAcquireBusyLateAndResent(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		fence := p.now() + 1_000_000
		late := p.quorumAsk(alice, fence)
		late.NotAfter = p.now() - 1
		p.unchanged(func() {
			require.Equal(t, luacall.TooLate, run(p, luacall.QuorumAcquire(late)).Status)
		})
		first := run(p, luacall.QuorumAcquire(p.quorumAsk(alice, fence)))
		require.Equal(t, fence, first.Fence)
		p.unchanged(func() {
			again := run(p, luacall.QuorumAcquire(p.quorumAsk(alice, fence)))
			require.Equal(t, luacall.Already, again.Status)
			require.False(t, again.Accepted, "what is stored may be somebody else's, though it is the same number")
			require.Equal(t, first.Fence+64, again.Fence)
			busy := run(p, luacall.QuorumAcquire(p.quorumAsk(bob, fence+1)))
			require.Equal(t, luacall.Busy, busy.Status)
			require.Positive(t, busy.PTTL)
			require.False(t, busy.Accepted)
		})
	})
}

// R8: the numbers between the stored token and the new one are the hold's too, whether the new one is the client's or
// the node's. None are where the node does not know what was given out before.
func TestQuorumAcquireSparesWhatNobodyHad(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		take := func(fence int64) luacall.QuorumReply {
			t.Helper()
			got := run(p, luacall.QuorumAcquire(p.quorumAsk(alice, fence)))
			require.Equal(t, luacall.Held, got.Status)
			run(p, p.release(alice))
			return got
		}
		ahead := p.now() + 5_000_000
		require.Zero(t, take(ahead).Spare, "no token was stored")
		require.EqualValues(t, 99, take(ahead+100).Spare)
		require.EqualValues(t, 1023, take(ahead+100_000).Spare)
		require.Zero(t, take(ahead+100_001).Spare, "the next number")
		refused := take(ahead)
		require.False(t, refused.Accepted)
		require.EqualValues(t, 63, refused.Spare, "the stored one is ahead of the clock")

		far := p.now() + quorumWindow + 1_000_000
		p.do("SET %s %d", p.token, far)
		got := take(0)
		require.Equal(t, far+1, got.Fence, "they do not run ahead")
		require.Zero(t, got.Spare)

		behind := p.now() - 1_000_000
		p.do("SET %s %d", p.token, behind)
		asked := take(0)
		require.False(t, asked.Accepted)
		require.EqualValues(t, 1023, asked.Spare, "below what the node asks for")
		p.do("SET %s 7", p.token)
		require.Zero(t, take(p.now()+5_000_000).Spare, "somebody counts from 1")
	})
}

// A hold that stands elsewhere brings its own token, however old that is, and lowers nothing.
func TestQuorumAcquireOfAHoldThatStandsElsewhere(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		seed := p.quorumAsk(alice, 1000)
		seed.Window = -1
		got := run(p, luacall.QuorumAcquire(seed))
		require.True(t, got.Accepted)
		require.Equal(t, int64(1000), got.Fence)
		require.Equal(t, int64(1000), p.stored())
		run(p, p.release(alice))

		p.do("SET %s 2000", p.token)
		got = run(p, luacall.QuorumAcquire(seed))
		require.Equal(t, luacall.Held, got.Status)
		require.True(t, got.Accepted)
		require.Equal(t, int64(2000), p.stored())
		require.Negative(t, p.pttl(p.token), "a token key without expiry never gets one")
	})
}

// Only where the hold stands is its token stored.
func TestQuorumRenewRaisesTheTokenOfAStandingHold(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, luacall.QuorumAcquire(p.quorumAsk(alice, 0)))
		require.Zero(t, p.stored())
		p.do("PEXPIRE %s 2000", p.lock)
		got := run(p, p.quorumRenew(alice, lease, 5000))
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, got.Renewals)
		p.heldOnce(alice)
		require.Equal(t, int64(5000), p.stored())

		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p, p.quorumRenew(alice, lease, 4000)).Renewals)
		require.Equal(t, int64(5000), p.stored(), "it never falls")
		p.unchanged(func() {
			require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p, p.quorumRenew(bob, lease, 9000)).Renewals)
		})
		run(p, p.release(alice))
		p.unchanged(func() {
			require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p, p.quorumRenew(alice, lease, 9000)).Renewals)
		})
	})
}

// One bad key costs the others nothing.
func TestQuorumRenewOfManyWithBadOnes(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		places := []*place{p, newPlace(t, p.rdb), newPlace(t, p.rdb), newPlace(t, p.rdb)}
		var holds []luacall.QuorumHold
		for _, at := range places {
			run(at, luacall.QuorumAcquire(at.quorumAsk(alice, 0)))
			holds = append(holds, luacall.QuorumHold{Lock: at.lock, Token: at.token, ID: alice, TTL: lease, Fence: 77})
		}
		p.do("DEL %s", places[0].lock)
		p.do("SET %s x", places[0].lock)
		p.do("DEL %s", places[1].lock)
		p.do("RPUSH %s x", places[2].token)
		got := run(p, luacall.QuorumRenew(holds, fenceTTL))
		require.Equal(t, []luacall.RenewStatus{
			luacall.RenewConflict, luacall.RenewGone, luacall.RenewConflict, luacall.Renewed,
		}, got.Renewals)
		require.Equal(t, int64(77), places[3].stored())
	})
}

func TestQuorumReleaseAndInspect(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, luacall.QuorumAcquire(p.quorumAsk(alice, p.now()+1_000_000)))
		seen := run(p, luacall.QuorumInspect(p.lock, p.token, p.channel)).Seen
		require.Equal(t, alice, seen.Holders[0].ID)
		require.Equal(t, p.stored(), seen.Fence)
		release := luacall.QuorumRelease(luacall.ReleaseArgs{Lock: p.lock, ID: alice, Channel: p.channel, WantNow: true})
		got := run(p, release)
		require.Equal(t, luacall.Done, got.Status)
		require.Positive(t, got.Now)
		p.free()
		require.Equal(t, luacall.Gone, run(p, release).Status)
	})
}

// An attempt that did not get the lock is taken back in silence. The release of a hold says whom it reached.
func TestQuorumReleaseInSilence(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		for _, silent := range []bool{true, false} {
			run(p, luacall.QuorumAcquire(p.quorumAsk(alice, p.now()+1_000_000)))
			got := run(p, luacall.QuorumRelease(luacall.ReleaseArgs{Lock: p.lock, ID: alice, Channel: p.channel, NoMessage: silent}))
			require.Equal(t, luacall.Done, got.Status)
			require.Equal(t, !silent, got.Receivers == 1)
			p.free()
		}
		require.Equal(t, []string{"0"}, heard(), "once")
	})
}

func TestQuorumScriptsTellConflicts(t *testing.T) {
	for name, commands := range strangers {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				for _, command := range commands {
					p.do(command, p.lock)
				}
				p.unchanged(func() { conflict(p, luacall.QuorumAcquire(p.quorumAsk(alice, 5))) })
			})
		})
	}
	for name, text := range map[string]string{
		"no number": "x", "beyond what can be compared": "9007199254740993", "with a fraction": "1.5",
	} {
		t.Run("token "+name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				p.do("SET %s %s", p.token, text)
				p.unchanged(func() { conflict(p, luacall.QuorumAcquire(p.quorumAsk(alice, 5))) })
				p.free()
			})
		})
	}
}

// At full memory nothing is taken, and what is held is kept, with its token.
func TestQuorumScriptsAtFullMemory(t *testing.T) {
	places, fill := fullPlaces(t, 2)
	fresh, kept := places[0], places[1]
	run(kept, luacall.QuorumAcquire(kept.quorumAsk(alice, 0)))
	fill()
	fresh.unchanged(func() { outOfMemory(fresh, luacall.QuorumAcquire(fresh.quorumAsk(alice, fresh.now()+1_000_000))) })
	require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(kept, kept.quorumRenew(alice, lease, 123)).Renewals)
	require.Equal(t, int64(123), kept.stored())
	require.Equal(t, luacall.Done, run(kept, luacall.QuorumRelease(luacall.ReleaseArgs{
		Lock: kept.lock, ID: alice, Channel: kept.channel,
	})).Status)
}

// An administrator who takes a command away must not make a lock that stands for ever, or without token.
func TestQuorumAcquireWhereRedisRefuses(t *testing.T) {
	for _, command := range []string{"-pexpire", "-set"} {
		t.Run(command, func(t *testing.T) {
			p := newPlace(t, nil)
			p.rdb = limited(t, command)
			_, err := luacall.QuorumAcquire(p.quorumAsk(alice, p.now()+1_000_000)).Run(t.Context(), p.rdb)
			require.Error(t, err)
			p.free()
		})
	}
}

func TestQuorumArgumentsThatAreNotSent(t *testing.T) {
	p := &place{lock: "l", token: "t"}
	for _, change := range []func(a *luacall.QuorumAcquireArgs){
		func(a *luacall.QuorumAcquireArgs) { a.Lock = "" },
		func(a *luacall.QuorumAcquireArgs) { a.Token = "" },
		func(a *luacall.QuorumAcquireArgs) { a.ID = "x" },
		func(a *luacall.QuorumAcquireArgs) { a.Lease = 0 },
		func(a *luacall.QuorumAcquireArgs) { a.Fence = -1 },
		func(a *luacall.QuorumAcquireArgs) { a.Fence = 1 << 53 },
		func(a *luacall.QuorumAcquireArgs) { a.FenceTTL = 0 },
	} {
		a := p.quorumAsk(alice, 1)
		change(&a)
		refused(t, luacall.QuorumAcquire(a))
	}
	refused(t, luacall.QuorumRenew(nil, -1))
	refused(t, p.quorumRenew(alice, 0, 1))
	refused(t, p.quorumRenew("x", 1, 1))
	refused(t, luacall.QuorumRelease(luacall.ReleaseArgs{Lock: "l", ID: "x", Channel: "c"}))
	refused(t, luacall.QuorumInspect("", "t", "c"))
}
