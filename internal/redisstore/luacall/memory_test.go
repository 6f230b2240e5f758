package luacall_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// fullPlaces returns locks on a server; fill makes it have no memory left.
func fullPlaces(t *testing.T, count int) (places []*place, fill func()) {
	t.Helper()
	server := startServer(t, "--maxmemory-policy", "noeviction")
	rdb := server.Client(t)
	for range count {
		places = append(places, newPlace(t, rdb))
	}
	return places, func() {
		t.Helper()
		require.NoError(t, rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
		err := rdb.Set(t.Context(), "one more", "x", 0).Err()
		require.True(t, redis.HasErrorPrefix(err, "OOM"), "the memory is not full: %v", err)
	}
}

func outOfMemory[R any](p *place, call *luacall.Call[R]) {
	p.t.Helper()
	_, err := call.Run(p.t.Context(), p.over())
	require.ErrorContains(p.t, err, "OOM")
	require.NotErrorIs(p.t, err, luacall.ErrConflict)
}

func TestFullMemoryRefusesWhatTakes(t *testing.T) {
	places, fill := fullPlaces(t, 3)
	fresh, known, busy := places[0], places[1], places[2]
	run(known, known.acquire(alice))
	run(known, known.release(alice))
	run(busy, busy.acquire(alice))
	fill()

	fresh.unchanged(func() { outOfMemory(fresh, fresh.acquire(alice)) })
	fresh.free()
	known.unchanged(func() { outOfMemory(known, known.acquire(alice)) })
	known.free()
	busy.unchanged(func() {
		outOfMemory(busy, busy.levels(alice, 1, 2))
		require.Equal(t, luacall.Busy, run(busy, busy.acquire(bob)).Status)
		require.Equal(t, luacall.Already, run(busy, busy.acquire(alice)).Status)
		require.Len(t, run(busy, busy.inspect()).Holders, 1)
	})
}

func TestFullMemoryAcceptsWhatGivesBack(t *testing.T) {
	places, fill := fullPlaces(t, 3)
	released, renewed, moved := places[0], places[1], places[2]
	for _, p := range places {
		run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 2))
	}
	heard := released.listen(false)
	fill()

	renewed.do("PEXPIRE %s 1500", renewed.lock)
	require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(renewed, renewed.renew(alice, lease)))
	renewed.holds(map[string]string{alice: "2"}, lease)

	require.Equal(t, luacall.Done, run(released, released.release(alice)).Status)
	released.free()
	require.Equal(t, []string{"0"}, heard())

	require.Equal(t, luacall.Held, run(moved, moved.adopt(alice, bob)).Status)
	moved.heldOnce(bob)
}
