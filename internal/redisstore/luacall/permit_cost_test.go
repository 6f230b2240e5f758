package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// What each script about permits pays inside Redis.
func TestCallsInsidePermitScripts(t *testing.T) {
	c := newTally(newPlace(t, startServer(t).Client(t)))
	s := c.sem
	taken := c.request()
	for _, step := range []struct {
		name  string
		act   func()
		calls string // in alphabetical order
	}{
		{"capacity", func() { s.capacity(3) },
			"get incrby pexpire pttl publish time zadd zcard zcount zremrangebyscore zscore"},
		{"acquisition", func() { run(s.place, s.take(alice, 2)) },
			"get incrby pttl time zadd zscore"},
		{"resend", func() { run(s.place, s.take(alice, 2)) },
			"time zscore"},
		{"busy", func() { run(s.place, s.take(bob, 2)) },
			"get time zcard zcount zrangebyscore zscore"},
		{"renewal", func() { s.extend(alice, 2, lease) },
			"time zadd zremrangebyscore zscore"},
		{"release", func() { run(s.place, s.back(alice, 2)) },
			"get incrby publish time zrem zscore"},
		{"release of nothing", func() { run(s.place, s.back(alice, 2)) },
			"time zscore"},
		{"acquisitions in a bundle", func() { together(s, s.take(alice, 1), s.take(bob, 1)) },
			"get incrby pttl time zadd zmscore"},
		{"releases in a bundle", func() { together(s, s.back(alice, 1), s.back(bob, 1)) },
			"get incrby publish time zmscore zrem"},
		{"counted acquisition", func() { run(s.place, luacall.CountAcquire(c.keys, 1, false, taken)) },
			"decrby get pttl time zadd zmscore zremrangebyscore"},
		{"counted release", func() { run(s.place, luacall.CountRelease(c.keys, 1, c.request())) },
			"getex incrby pttl publish time zadd zmscore zremrangebyscore"},
		{"look", func() { run(s.place, luacall.LatchWait(c.lock)) },
			"get pttl"},
		{"count down", func() { run(s.place, luacall.LatchDown(c.latch, c.request())) },
			"decrby getex pttl time zadd zmscore zremrangebyscore"},
	} {
		require.Equal(t, step.calls, s.callsOf(step.act), step.name)
	}
}
