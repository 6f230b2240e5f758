package luacall_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// numberless are things at a key that are no number of permits.
var numberless = map[string]string{
	"lock":        "HSET %s a:1 1",
	"list":        "RPUSH %s x",
	"sorted set":  "ZADD %s 1 x",
	"text":        "SET %s x",
	"empty":       "SETRANGE %s 0 \x00",
	"fraction":    "SET %s 1.5",
	"exponent":    "SET %s 1e5",
	"long number": "SET %s 1234567890123456",
}

// everyCall makes one call of each script that looks at the number.
func everyCall(c *tally) map[string]func() error {
	send := func(run func() error) func() error { return run }
	counts := map[string]*luacall.Call[luacall.CountReply]{
		"capacity": luacall.PermitCapacity(c.sem.keys, 3, c.request()),
		"release":  luacall.CountRelease(c.keys, 1, c.request()),
		"set":      luacall.CountSet(c.keys, 1, c.request()),
		"drain":    luacall.CountDrain(c.keys, c.request()),
		"remove":   luacall.CountDelete(c.keys, c.request()),
		"removal":  luacall.PermitDelete(c.sem.keys, c.request()),
		"look":     luacall.CountLook(c.lock),
		"start":    luacall.LatchSet(c.latch, 1, c.request()),
		"down":     luacall.LatchDown(c.latch, c.request()),
		"delete":   luacall.LatchDelete(c.latch, c.request()),
	}
	all := map[string]func() error{
		"take":    send(func() error { _, err := c.take(alice, 1).Run(c.t.Context(), c.rdb); return err }),
		"inspect": send(func() error { _, err := luacall.PermitInspect(c.sem.keys).Run(c.t.Context(), c.rdb); return err }),
		"acquire": send(func() error {
			_, err := luacall.CountAcquire(c.keys, 1, false, c.request()).Run(c.t.Context(), c.rdb)
			return err
		}),
		"cancel": send(func() error {
			_, err := luacall.CountCancel(c.keys, 1, c.request(), lease).Run(c.t.Context(), c.rdb)
			return err
		}),
		"wait": send(func() error { _, err := luacall.LatchWait(c.lock).Run(c.t.Context(), c.rdb); return err }),
	}
	for name, call := range counts {
		all[name] = func() error { _, err := call.Run(c.t.Context(), c.rdb); return err }
	}
	return all
}

// A lock, a list or a text at the name is a conflict, and nothing changes: never "none free", for which
// one would wait, and never a deletion.
func TestStrangersAtTheNumber(t *testing.T) {
	for name, command := range numberless {
		t.Run(name, func(t *testing.T) {
			tallies(t, func(t *testing.T, c *tally) {
				c.do(command, c.lock)
				for name, send := range everyCall(c) {
					c.unchanged(func() { require.ErrorIs(t, send(), luacall.ErrConflict, name) })
				}
				keys, err := c.rdb.Keys(t.Context(), "*"+c.lock+"*").Result()
				require.NoError(t, err)
				require.Equal(t, []string{c.lock}, keys, "nothing is remembered either")
			})
		})
	}
}

func TestStrangersAtTheLeases(t *testing.T) {
	for name, command := range map[string]string{
		"lock": "HSET %s a:1 1", "text": "SET %s x", "list": "RPUSH %s x",
	} {
		t.Run(name, func(t *testing.T) {
			semaphores(t, func(t *testing.T, s *sem) {
				s.do("SET %s 3", s.lock)
				s.do(command, s.token)
				s.unchanged(func() {
					conflict(s.place, s.take(alice, 1))
					conflict(s.place, s.back(alice, 1))
					conflict(s.place, luacall.PermitInspect(s.keys))
					conflict(s.place, luacall.PermitCapacity(s.keys, 5, s.request()))
					require.Equal(t, []luacall.RenewStatus{luacall.RenewConflict}, s.extend(alice, 1, lease))
				})
			})
		})
	}
}

// Bad arguments are refused before anything is sent.
func TestBadPermitArguments(t *testing.T) {
	t.Parallel()
	p := newPlace(t, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
	t.Cleanup(func() { _ = p.rdb.Close() })
	c := newTally(p)
	r := c.request()
	none := luacall.Permits{Leases: "x", Channel: "x"}
	hold := func(id string, n int64) luacall.PermitHold { return luacall.PermitHold{ID: id, Count: n} }
	for name, err := range map[string]error{
		"no key":         sent(c, luacall.PermitAcquire(none, hold(alice, 1), lease, never)),
		"no id":          sent(c, luacall.PermitAcquire(c.sem.keys, hold("", 1), lease, never)),
		"zero":           sent(c, luacall.PermitAcquire(c.sem.keys, hold(alice, 0), lease, never)),
		"too many":       sent(c, luacall.PermitAcquire(c.sem.keys, hold(alice, luacall.MaxPermits+1), lease, never)),
		"no lease":       sent(c, luacall.PermitAcquire(c.sem.keys, hold(alice, 1), 0, never)),
		"negative":       sent(c, luacall.PermitRelease(c.sem.keys, hold(alice, -1))),
		"no permit":      sent(c, luacall.PermitReleaseOne(none, "x")),
		"no holds":       sent(c, luacall.PermitRenew(nil, nil, 1, nil)),
		"renew zero":     sent(c, luacall.PermitRenew([]string{"x"}, []string{alice}, 0, []int64{lease})),
		"capacity":       sent(c, luacall.PermitCapacity(c.sem.keys, -1, r)),
		"inspect":        sent(c, luacall.PermitInspect(none)),
		"acquire":        sent(c, luacall.CountAcquire(c.keys, 0, false, r)),
		"no request":     sent(c, luacall.CountAcquire(c.keys, 1, false, luacall.Request{ID: alice})),
		"no request id":  sent(c, luacall.CountRelease(c.keys, 1, luacall.Request{Key: "x"})),
		"no settled id":  sent(c, luacall.CountDrain(c.keys, luacall.Request{Key: "x", ID: alice, Settled: []luacall.Settled{{}}})),
		"no life":        sent(c, luacall.CountCancel(c.keys, 1, r, 0)),
		"delete":         sent(c, luacall.CountDelete(luacall.Counter{}, r)),
		"delete permits": sent(c, luacall.PermitDelete(none, r)),
		"release":        sent(c, luacall.CountRelease(c.keys, luacall.MaxCount+1, r)),
		"set":            sent(c, luacall.CountSet(c.keys, -1, r)),
		"drain":          sent(c, luacall.CountDrain(luacall.Counter{}, r)),
		"cancel":         sent(c, luacall.CountCancel(luacall.Counter{}, 1, r, lease)),
		"look":           sent(c, luacall.CountLook("")),
		"latch set":      sent(c, luacall.LatchSet(c.latch, 0, r)),
		"latch down":     sent(c, luacall.LatchDown(luacall.Latch{}, r)),
		"latch wait":     sent(c, luacall.LatchWait("")),
		"latch too many": sent(c, luacall.LatchSet(c.latch, luacall.MaxCount+1, r)),
	} {
		require.ErrorContains(t, err, "lua: ", name)
	}
}

func sent[R any](c *tally, call *luacall.Call[R]) error {
	_, err := call.Run(c.t.Context(), c.rdb)
	return err
}
