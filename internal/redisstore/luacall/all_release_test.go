package luacall_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A hold that is gone is told, and the others end all the same: each with its own id and message.
func TestReleaseAll(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 4)
		for _, member := range all[:3] {
			run(member, member.acquire(alice))
		}
		run(all[1], all[1].levels(alice, 1, 3)) // however deep
		run(all[2], all[2].release(alice))
		run(all[2], all[2].acquire(bob))
		heard := all[0].listen(false)
		all[2:].unchanged(func() {
			replies := run(p, all.release(alice))
			for i, want := range []store.ReleaseReply{
				{Status: store.Done, Receivers: 1}, {Status: store.Done}, {Status: store.Gone}, {Status: store.Gone},
			} {
				require.Equal(t, luacall.ReleaseReply{ReleaseReply: want}, replies[i])
			}
		})
		all[0].free()
		all[1].free()
		all[2].heldOnce(bob)
		require.Equal(t, []string{"0"}, heard())
		all.unchanged(func() {
			for _, reply := range run(p, all.release(alice)) {
				require.Equal(t, luacall.Gone, reply.Status, "a copy changes nothing")
			}
		})
		run(p, all[:2].acquire(alice))
		run(all[3], all[3].acquire(bob))
		require.Equal(t, luacall.Done, run(p, all[2:].release(bob))[1].Status)
	})
}

// A key of another type keeps no other lock from being released, and is left to the call by itself.
func TestReleaseAllWithAStranger(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		all := setOf(p, 3)
		run(p, all.acquire(alice))
		p.do("DEL %s", all[1].lock)
		p.do("SET %s x", all[1].lock)
		all[1:2].unchanged(func() {
			for i, reply := range run(p, all.release(alice)) {
				require.Equal(t, []store.Status{store.Done, store.Apart, store.Done}[i], reply.Status)
			}
			conflict(p, all[1].release(alice))
		})
		all[0].free()
		all[2].free()
	})
}

// A hold ends even if this user must not publish its message.
func TestReleaseAllWithoutPermissionToPublish(t *testing.T) {
	p := newPlace(t, limited(t, "-publish"))
	all := setOf(p, 2)
	run(p, all.acquire(alice))
	for i, reply := range run(p, all.release(alice)) {
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done, Receivers: -1}}, reply)
		all[i].free()
	}
}

// While a slot moves, releasing falls back to one script per lock; what a broken connection leaves undone is
// the error of all, and can be sent again.
func TestReleaseAllOneByOne(t *testing.T) {
	p := newPlace(t, redistest.Shared(t).Client(t))
	all := setOf(p, 3)
	run(p, all.acquire(alice))
	run(p, all[0].release(bob)) // the server knows the script of one from here on
	conn := &apart{Conn: p.rdb, breaks: 2}
	_, err := all.release(alice).Run(t.Context(), conn)
	require.ErrorIs(t, err, errBroken)
	all[0].free()
	all[1].heldOnce(alice)
	conn.breaks = 0
	again, err := all.release(alice).Run(t.Context(), conn)
	require.NoError(t, err)
	require.Equal(t, luacall.Gone, again[0].Status)
	require.Equal(t, luacall.Done, again[1].Status)
	require.Equal(t, luacall.Done, again[2].Status)
}

var errBroken = errors.New("the connection broke")

// apart answers scripts of several keys as a node does that is moving their slot, and breaks at one of the
// others.
type apart struct {
	luacall.Conn
	singles, breaks int
}

type tryAgain struct{}

func (tryAgain) Error() string { return "TRYAGAIN Multiple keys request during rehashing of slot" }
func (tryAgain) RedisError()   {}

func (a *apart) Process(ctx context.Context, cmd redis.Cmder) error {
	if keys, _ := cmd.Args()[2].(int); keys > 1 {
		cmd.SetErr(tryAgain{})
		return cmd.Err()
	}
	if a.singles++; a.singles == a.breaks {
		cmd.SetErr(errBroken)
		return errBroken
	}
	return a.Conn.Process(ctx, cmd)
}
