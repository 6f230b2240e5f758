package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lua"
)

// standing is a fake lock whose waiters stand in a queue in Redis.
type standing struct{ side }

func (standing) Marks() {}
func (standing) Enqueue(context.Context, lua.Conn, []Ask, bool) (lua.EnqueueReply, error) {
	panic("the table sends nothing")
}

// queue has waiters of such a lock enter.
func (f *floor) queue(who ...string) {
	for _, name := range who {
		w := &waiter{req: Request{Proto: standing{side{mode: name[:1], key: "k"}}}, id: "id-" + name}
		f.waiters[name] = w
		require.True(f.t, f.table.enter(w, false))
	}
}

// Whoever leaves between being picked for a registration and the sending of it is not registered: what it
// left behind was taken back before, and a place that comes into being later would be nobody's.
func TestWhoLeavesBeforeItsRegistrationIsNotRegistered(t *testing.T) {
	f := newFloor(t)
	f.queue("w1", "w2", "w3")
	batch, first := f.table.unplaced(f.waiters["w1"])
	require.Len(t, batch, 2, "those behind the leader")
	require.True(t, first)
	require.Nil(t, f.table.leave(f.waiters["w2"]))
	require.Zero(t, f.table.entering(f.waiters["w2"]))
	still, asks := f.table.entrants(f.waiters["w1"], batch, 7)
	require.Equal(t, []*waiter{f.waiters["w3"]}, still)
	require.Equal(t, []Ask{{ID: "id-w3", NotAfter: 7}}, asks)
	require.Equal(t, int64(7), f.table.entering(f.waiters["w3"]))
}

// A registration is a client's first one while none of its waiters has a place, wherever in the line it stands.
func TestTheFirstRegistration(t *testing.T) {
	f := newFloor(t)
	f.queue("w1", "w2", "w3")
	batch, first := f.table.unplaced(f.waiters["w1"])
	require.True(t, first)
	f.table.registered(f.waiters["w1"], batch, nil, false)
	for _, who := range []string{"w1", "w3"} {
		f.table.setTicket(f.waiters[who], 1)
		_, first = f.table.unplaced(f.waiters["w1"])
		require.False(t, first, "%s has a place", who)
		f.table.setTicket(f.waiters[who], 0)
	}
}
