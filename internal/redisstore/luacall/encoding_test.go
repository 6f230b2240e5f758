package luacall_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// FuzzNamesAndIDs sends names and hold ids of any bytes through a whole life of a lock, and
// looks them up by plain commands in between: what arrives must be what was sent.
func FuzzNamesAndIDs(f *testing.F) {
	for _, seed := range [][3]string{
		{"order:1001", alice, bob},
		{"\x00\r\n$5\r\n", ":\r\n", "\xff\xfe:"},
		{"{tag}x", "a:b:c", "a:b"},
		{"日本 é é", "':'", "\"]]--:"},
		{"%s%d{", "*?[x]:1", strings.Repeat("long", 1000) + ":"},
		{"KEYS[1]", "-:", "0:"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	server := redistest.Shared(f)
	rdb := server.Client(f)
	f.Fuzz(func(t *testing.T, name, from, to string) {
		if name == "" || from == to || !strings.Contains(from, ":") || !strings.Contains(to, ":") ||
			to == from+":n" || from == to+":n" {
			t.Skip()
		}
		p := newPlace(t, rdb)
		p.lock = "fuzz:" + name
		p.token, p.channel = keys.Prefix("token", p.lock), keys.Prefix("channel", p.lock)
		t.Cleanup(func() { rdb.Del(context.Background(), p.lock, p.token) })
		live(t, p, from, to)
	})
}

// live runs through every script with two holds.
func live(t *testing.T, p *place, from, to string) {
	run(p, luacall.Release(luacall.ReleaseArgs{Lock: p.lock, ID: from, Channel: p.channel}))
	require.Equal(t, luacall.Held, run(p, p.acquire(from)).Status)
	p.heldOnce(from)
	require.Equal(t, luacall.Already, run(p, p.acquire(from)).Status)
	require.Equal(t, luacall.Busy, run(p, p.acquire(to)).Status)
	require.Equal(t, luacall.Gone, run(p, p.release(to)).Status)

	require.EqualValues(t, 2, run(p, p.levels(from, 1, 2)))
	p.holds(map[string]string{from: "2"}, lease)
	require.Equal(t, []luacall.Holder{{ID: from, Count: 2}}, run(p, p.inspect()).Holders)
	require.EqualValues(t, 1, run(p, p.levels(from, 2, 1)))
	require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p, p.renew(from, lease)))
	require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p, p.renew(to, lease)))

	require.Equal(t, luacall.Held, run(p, p.adopt(from, to)).Status)
	p.heldOnce(to)
	require.Equal(t, luacall.Held, run(p, p.adopt(to, from)).Status)
	p.heldOnce(from)
	require.Equal(t, luacall.Done, run(p, p.release(from)).Status)
	p.free()
}

// Numbers arrive with all their digits: what is stored is what was sent.
func FuzzNumbers(f *testing.F) {
	f.Add(int64(2), int64(30_000))
	f.Add(int64(1<<53), int64(100*365)*day)
	f.Add(int64(math.MaxInt64), int64(1))
	server := redistest.Shared(f)
	rdb := server.Client(f)
	f.Fuzz(func(t *testing.T, count, ttl int64) {
		if ttl > 0 && ttl < 60_000 {
			ttl += 60_000 // a lease that is not over before it is looked at
		}
		p := newPlace(t, rdb)
		t.Cleanup(func() { rdb.Del(context.Background(), p.lock, p.token) })
		run(p, p.acquire(alice))
		_, err := p.levels(alice, 1, count).Run(t.Context(), rdb)
		_, again := p.renew(alice, ttl).Run(t.Context(), rdb)
		var reply redis.Error
		require.False(t, errors.As(errors.Join(err, again), &reply), "Redis was sent what it cannot take: %v, %v", err, again)
		if err != nil {
			count = 1
		}
		if again != nil {
			ttl = lease
		}
		require.Equal(t, map[string]string{alice: fmt.Sprint(count)}, rdb.HGetAll(t.Context(), p.lock).Val())
		p.lives(p.lock, ttl)
	})
}
