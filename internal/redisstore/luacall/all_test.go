package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// set is several locks of one test that are taken together.
type set []*place

// setOf is as many locks on the server of p.
func setOf(p *place, n int) set {
	all := set{p}
	for len(all) < n {
		other := newPlace(p.t, p.rdb)
		other.mini = p.mini
		all = append(all, other)
	}
	return all
}

func (s set) members(lease int64) []luacall.Member {
	all := make([]luacall.Member, len(s))
	for i, p := range s {
		all[i] = member(p.lock, p.token, fenceTTL, lease)
	}
	return all
}

func member(lock, token string, fenceTTL, lease int64) luacall.Member {
	take := luacall.PrepareAcquire(luacall.AcquireArgs{Lock: lock, Token: token, Lease: lease, FenceTTL: fenceTTL})
	return luacall.Member{Acquirer: take, Lease: lease}
}

func (s set) acquire(id string) *luacall.Call[luacall.AcquireAllReply] {
	return luacall.AcquireAll(s.members(lease), id, never)
}

func (s set) release(ids ...string) *luacall.Call[[]luacall.ReleaseReply] {
	all := make([]luacall.Parting, len(s))
	for i, p := range s {
		release := luacall.PrepareRelease(luacall.ReleaseArgs{Lock: p.lock, Channel: p.channel})
		all[i] = luacall.Parting{Releaser: release, ID: ids[i%len(ids)]}
	}
	return luacall.ReleaseAll(all, false)
}

// unchanged asserts that act writes nothing to any of the locks and tokens.
func (s set) unchanged(act func()) {
	s[0].t.Helper()
	before := make([]map[string]atKey, len(s))
	for i, p := range s {
		before[i] = p.picture()
	}
	act()
	for i, p := range s {
		p.looksLike(before[i])
	}
}

func TestAcquireAll(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 3)
		before := p.now()
		got := run(p, all.acquire(alice))
		require.Equal(t, luacall.Held, got.Status)
		require.Len(t, got.Fences, len(all))
		require.GreaterOrEqual(t, got.Now, before)
		for i, member := range all {
			member.heldOnce(alice)
			require.Equal(t, got.Now, got.Fences[i], "the first token is the clock")
			require.Equal(t, got.Fences[i], member.stored())
		}
		for _, reply := range run(p, all.release(alice)) {
			require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done}}, reply)
		}
		later := run(p, all.acquire(bob))
		for i, member := range all {
			member.heldOnce(bob)
			require.Greater(t, later.Fences[i], got.Fences[i])
		}
	})
}

// Each member has a lease and a token of its own: one may be ahead of the clock, another new.
func TestAcquireAllKeepsMembersApart(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 3)
		ahead := p.now() + 3_600_000_000
		p.do("SET %s %d", all[1].token, ahead)
		p.do("SET %s %d", all[2].token, int64(1)<<53+1)
		members := all.members(lease)
		members[2].Lease = 5_000
		got := run(p, luacall.AcquireAll(members, alice, never))
		require.Equal(t, []int64{got.Now, ahead + 1, int64(1)<<53 + 2}, got.Fences)
		all[0].heldOnce(alice)
		all[1].heldOnce(alice)
		all[2].holds(map[string]string{alice: "1"}, 5_000)
		require.EqualValues(t, -1, all[1].pttl(all[1].token), "found without an expiry, it never gets one")
		require.Positive(t, all[0].pttl(all[0].token))
	})
}

func TestAcquireAllLate(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 2)
		late := luacall.AcquireAll(all.members(lease), alice, p.now()-1)
		all.unchanged(func() {
			got := run(p, late)
			require.Equal(t, luacall.TooLate, got.Status)
			require.Positive(t, got.Now)
			require.Empty(t, got.Fences)
		})
		run(p, all.acquire(alice))
		all.unchanged(func() {
			require.Equal(t, luacall.TooLate, run(p, late).Status, "even where it would be recognised")
		})
	})
}

// Which one is busy is told, wherever it stands, and none is taken.
func TestAcquireAllBusy(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 3)
		for i, member := range all {
			run(member, member.acquire(bob))
			p.do("PEXPIRE %s 7000", member.lock)
			all.unchanged(func() {
				got := run(p, all.acquire(alice))
				require.Equal(t, luacall.Busy, got.Status)
				require.Equal(t, i, got.Which)
				require.InDelta(t, 7*time.Second, got.PTTL, float64(time.Second))
				require.Positive(t, got.Now)
				require.Empty(t, got.Fences)
			})
			run(member, member.release(bob))
		}
		p.do("HSET %s 8743c9c0-0795-4907-87fd-6c719a6b4586:51 3", all[1].lock)
		p.do("PEXPIRE %s 30000", all[1].lock)
		require.Equal(t, 1, run(p, all.acquire(alice)).Which, "of a Java client")
	})
}

func TestAcquireAllResend(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 3)
		call := all.acquire(alice)
		first := run(p, call)
		run(all[1], all[1].levels(alice, 1, 2))
		all.unchanged(func() {
			second := run(p, call)
			require.Equal(t, luacall.Already, second.Status)
			require.Equal(t, first.Fences, second.Fences)
		})
		p.do("DEL %s", all[2].token)
		got := run(p, call)
		require.Equal(t, luacall.Already, got.Status)
		require.Equal(t, []int64{first.Fences[0], first.Fences[1], 0}, got.Fences, "its token was lost")
	})
}

// Locks that an earlier copy took and nobody released stay as they are, and only the rest is taken.
func TestAcquireAllPartlyTaken(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 3)
		call := all.acquire(alice)
		first := run(p, call)
		p.do("DEL %s", all[1].lock)
		p.do("PEXPIRE %s 9000", all[0].lock)
		second := run(p, call)
		require.Equal(t, luacall.Held, second.Status)
		require.Equal(t, first.Fences[0], second.Fences[0])
		require.Greater(t, second.Fences[1], first.Fences[1])
		require.Equal(t, first.Fences[2], second.Fences[2])
		all[0].holds(map[string]string{alice: "1"}, 9000)
		all[1].heldOnce(alice)

		p.do("DEL %s", all[2].lock)
		run(all[2], all[2].acquire(bob))
		all.unchanged(func() {
			got := run(p, call)
			require.Equal(t, luacall.Busy, got.Status)
			require.Equal(t, 2, got.Which)
		})
	})
}

// Something that is no lock at any of the keys, or no token, is a conflict, and nothing is written.
func TestAcquireAllAmongStrangers(t *testing.T) {
	for name, commands := range strangers {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				all := setOf(p, 3)
				for _, command := range commands {
					p.do(command, all[2].lock)
				}
				all.unchanged(func() { conflict(p, all.acquire(alice)) })
			})
		})
	}
	for name, token := range map[string]string{
		"a word": "x", "a fraction": "1.5", "a number that cannot grow": "9223372036854775807",
	} {
		t.Run("the token is "+name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				all := setOf(p, 2)
				p.do("SET %s %s", all[1].token, token)
				all.unchanged(func() { conflict(p, all.acquire(alice)) })
			})
		})
	}
	t.Run("the token is no text", func(t *testing.T) {
		everywhere(t, func(t *testing.T, p *place) {
			all := setOf(p, 2)
			p.do("RPUSH %s 1", all[1].token)
			all.unchanged(func() { conflict(p, all.acquire(alice)) })
		})
	})
}

// A second copy finds the locks taken, and a token that became something else meanwhile.
func TestATokenThatIsNoneWhenAlreadyHeld(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 2)
		run(p, all.acquire(alice))
		p.do("SET %s x", all[1].token)
		all.unchanged(func() {
			_, err := all.acquire(alice).Run(t.Context(), p.over())
			require.ErrorIs(t, err, luacall.ErrConflict)
			_, err = all[1].acquire(alice).Run(t.Context(), p.over())
			require.ErrorIs(t, err, luacall.ErrConflict)
		})
		require.NoError(t, p.rdb.Ping(t.Context()).Err())
	})
}

func TestAcquireAllBadArguments(t *testing.T) {
	good := member("a", "t", fenceTTL, lease)
	for name, call := range map[string]*luacall.Call[luacall.AcquireAllReply]{
		"no locks":       luacall.AcquireAll(nil, alice, never),
		"an empty key":   luacall.AcquireAll([]luacall.Member{good, member("", "t", fenceTTL, lease)}, alice, never),
		"no token":       luacall.AcquireAll([]luacall.Member{good, member("b", "", fenceTTL, lease)}, alice, never),
		"no lease":       luacall.AcquireAll([]luacall.Member{good, member("b", "u", fenceTTL, 0)}, alice, never),
		"an empty id":    luacall.AcquireAll([]luacall.Member{good}, "", never),
		"no life at all": luacall.AcquireAll([]luacall.Member{member("a", "t", 0, lease)}, alice, never),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := call.Run(t.Context(), nil)
			require.Error(t, err, "and nothing is sent")
		})
	}
}

func TestReleaseAllBadArguments(t *testing.T) {
	good := luacall.PrepareRelease(luacall.ReleaseArgs{Lock: "a", Channel: "c"})
	for name, call := range map[string]*luacall.Call[[]luacall.ReleaseReply]{
		"no locks":     luacall.ReleaseAll(nil, false),
		"an empty key": luacall.ReleaseAll([]luacall.Parting{{good, alice}, {luacall.PrepareRelease(luacall.ReleaseArgs{}), alice}}, false),
		"an empty id":  luacall.ReleaseAll([]luacall.Parting{{good, alice}, {good, ""}}, false),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := call.Run(t.Context(), nil)
			require.Error(t, err, "and nothing is sent")
		})
	}
}

func TestFullMemoryRefusesAll(t *testing.T) {
	places, fill := fullPlaces(t, 4)
	taken, wanted := set(places[:2]), set(places[2:])
	run(taken[0], taken.acquire(alice))
	fill()
	wanted.unchanged(func() { outOfMemory(wanted[0], wanted.acquire(bob)) })
	taken.unchanged(func() {
		require.Equal(t, luacall.Already, run(taken[0], taken.acquire(alice)).Status)
		require.Equal(t, luacall.Busy, run(taken[0], taken.acquire(bob)).Status)
	})
	for i, reply := range run(taken[0], taken.release(alice)) {
		require.Equal(t, luacall.Done, reply.Status)
		taken[i].free()
	}
}

// Where an administrator took PEXPIRE away, no lock without an expiry is left behind.
func TestAcquireAllWithoutPermissionToExpire(t *testing.T) {
	p := newPlace(t, limited(t, "-pexpire"))
	all := setOf(p, 3)
	_, err := all.acquire(alice).Run(t.Context(), p.rdb)
	refusedByRedis(t, err)
	for _, member := range all {
		member.free()
		require.Zero(t, member.stored())
	}
}
