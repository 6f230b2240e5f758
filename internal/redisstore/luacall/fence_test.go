package luacall_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const day = int64(24 * 60 * 60 * 1000)

func TestTokensGrowOverReleaseAndExpiry(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		var last int64
		grown := func(fence int64) {
			require.Greater(t, fence, last)
			require.Equal(t, fence, p.stored())
			last = fence
		}
		for range 20 {
			grown(run(p, p.acquire(alice)).Fence)
			run(p, p.release(alice))
			grown(run(p, p.acquire(alice)).Fence)
			p.do("DEL %s", p.lock) // as expiry and force-unlock do
			grown(p.mint(fenceTTL).Fence)
		}
		p.do("DEL %s", p.token) // as a restart that lost the data does
		grown(run(p, p.acquire(alice)).Fence)
	})
}

func TestReentryAndResendKeepTheToken(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		first := run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 2))
		run(p, p.levels(alice, 2, 1))
		run(p, p.renew(alice, lease))
		run(p, p.adopt(alice, bob))
		require.Equal(t, first.Fence, run(p, p.acquire(bob)).Fence)
		require.Equal(t, first.Fence, p.stored())
	})
}

func TestTokenAheadOfTheClock(t *testing.T) {
	for _, stored := range []int64{
		4_000_000_000_000_000,
		1<<53 - 2, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2, // where Lua's + 1 stops
		123_456_789_012_345_678,
		math.MaxInt64 - 1,
	} {
		t.Run(strconv.FormatInt(stored, 10), func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				p.do("SET %s %d", p.token, stored)
				require.Equal(t, stored+1, run(p, p.acquire(alice)).Fence)
				require.Equal(t, stored+1, p.stored())
				require.Equal(t, stored+1, run(p, p.acquire(alice)).Fence, "as a resend reads it")
				require.Equal(t, stored+1, run(p, p.inspect()).Fence)
				require.Equal(t, int64(-1), int64(p.pttl(p.token)), "no expiry was there")
			})
		})
	}
}

func TestTokenOfJava(t *testing.T) {
	for _, stored := range []string{"0", "1", "42", "-5"} {
		t.Run(stored, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				p.do("SET %s %s", p.token, stored)
				for range 3 {
					got := run(p, p.acquire(alice))
					require.Equal(t, got.Now, got.Fence)
					require.Equal(t, int64(-1), int64(p.pttl(p.token)), "it never expires")
					run(p, p.release(alice))
				}
				next := p.stored() + 1
				require.Equal(t, next, p.do("INCR %s", p.token), "Java goes on from there")
			})
		})
	}
}

// The clock's digits must reach Redis as digits, whichever they are.
func TestTokenIsWrittenInFull(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		got := run(p, p.acquire(alice))
		require.Equal(t, fmt.Sprint(got.Fence), p.do("GET %s", p.token))
		require.Len(t, fmt.Sprint(got.Fence), 16)
	})
}

// A quarter of the TTL is the step in which the expiry is looked at: a token minted in the
// same quarter leaves it alone, one of an earlier quarter gives it its full length again.
func TestTokenLife(t *testing.T) {
	const ttl, quarter = 8 * day, 2 * day
	type state struct {
		age  int64 // of the stored token, ms; negative: ahead of the clock
		life int64 // that the key has left, ms; 0: no expiry
	}
	for name, test := range map[string]struct {
		before   state
		fenceTTL int64
		want     int64 // life afterwards, ms; 0: no expiry
	}{
		"in an earlier quarter":       {state{quarter, 8 * day}, ttl, ttl + quarter},
		"long ago":                    {state{7 * day, 3 * day}, ttl, ttl + quarter},
		"longer life of another":      {state{quarter, 30 * day}, ttl, 30 * day},
		"no expiry":                   {state{quarter, 0}, ttl, 0},
		"ahead":                       {state{-1 * day, 8 * day}, ttl, ttl + quarter + day},
		"ahead, no expiry":            {state{-1 * day, 0}, ttl, 0},
		"for ever":                    {state{quarter, 8 * day}, -1, 0},
		"for ever, in the same":       {state{0, 8 * day}, -1, 0},
		"for ever, ahead":             {state{-1 * day, 8 * day}, -1, 0},
		"the shortest TTL there is":   {state{1000, 1000}, 1, 1000},
		"the longest TTL there is":    {state{25 * 365 * day, day}, 100 * 365 * day, 125 * 365 * day},
		"the longest, ahead for ever": {state{-290 * 365 * day, day}, 100 * 365 * day, 225 * 365 * day},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				p.do("SET %s %d", p.token, p.now()-test.before.age*1000)
				if test.before.life != 0 {
					p.do("PEXPIRE %s %d", p.token, test.before.life)
				}
				p.mint(test.fenceTTL)
				if test.want == 0 {
					require.Equal(t, int64(-1), int64(p.pttl(p.token)))
				} else {
					p.lives(p.token, test.want+1)
				}
			})
		})
	}
}

// However old the last token is, the key of the next one lives for the TTL at least and for a quarter more at
// most (defect D10): the life that an earlier token set counts, and lacks less than a quarter by then.
func TestTokenLivesForAQuarterMoreAtMost(t *testing.T) {
	const ttl = 8 * day
	for age := int64(0); age <= 10*day; age += day / 2 {
		t.Run(fmt.Sprint(age/(day/2), " half days"), func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				p.do("SET %s %d PX %d", p.token, p.now()-age*1000, max(ttl+ttl/4-age, 1000))
				p.mint(ttl)
				life := p.pttl(p.token).Milliseconds()
				require.GreaterOrEqual(t, life, int64(ttl-60_000))
				require.LessOrEqual(t, life, int64(ttl+ttl/4))
			})
		})
	}
}

func TestTokenLifeIsLeftAloneWithinAQuarter(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const quarter = 100 * 365 * day / 4
		if now := p.now() / 1000; now%quarter > quarter-60_000 {
			t.Skip("once in 25 years the test runs at the end of a quarter")
		}
		p.mint(4 * quarter)
		p.lives(p.token, 5*quarter)
		p.do("PEXPIRE %s %d", p.token, day)
		p.mint(4 * quarter)
		p.lives(p.token, day)
	})
}

func TestNewTokenKeyExpires(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.lives(p.token, fenceTTL+fenceTTL/4)

		forever := newPlace(t, p.rdb)
		forever.mint(-1)
		require.Equal(t, int64(-1), int64(forever.pttl(forever.token)))
	})
}

func TestTokenThatIsNone(t *testing.T) {
	for _, value := range []string{
		"x", "1e5", "12.5", "007", "-0", "--1", "+1", "0x10", "1_000", "nan", "inf",
		"9223372036854775807",                          // INCR would overflow
		"9223372036854775808", "999999999999999999999", // and does not take these
	} {
		t.Run(value, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				p.do("SET %s %s", p.token, value)
				p.unchanged(func() {
					conflict(p, p.acquire(alice))
				})
				p.free()
			})
		})
	}
}

func TestTokenKeyOfAnotherType(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		p.do("RPUSH %s x", p.token)
		p.unchanged(func() {
			conflict(p, p.acquire(alice))
		})
		p.free()
		p.do("HSET %s %s 1", p.lock, alice)
		p.do("PEXPIRE %s %d", p.lock, lease)
		p.unchanged(func() {
			conflict(p, p.acquire(alice)) // a resend
			conflict(p, p.inspect())
		})
	})
}
