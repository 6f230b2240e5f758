package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// standing is a fake lock whose waiters stand in a queue in Redis.
type standing struct{ side }

func (standing) Traits() *store.Traits { return &store.Traits{Queues: true, Marks: true} }

// What is sent for a registration is what is noted for those who leave before it is answered.
func TestWhatIsSentForARegistration(t *testing.T) {
	f := newFloor(t)
	for _, name := range []string{"w1", "w2", "w3"} {
		w := f.engine.newWaiter(&Request{Proto: standing{side{mode: "w", key: "k"}}}, 0, outer{})
		f.waiters[name] = w
		require.True(t, f.table.enter(w, false))
	}
	w1, w2, w3 := f.waiters["w1"], f.waiters["w2"], f.waiters["w3"]
	require.True(t, w2.key.beginRegistrar(w2))
	batch := w1.key.unplaced()
	require.Len(t, batch, 2, "those behind the one that asks")
	_, left := w2.leave()
	require.Zero(t, left, "nothing was sent")
	when := store.Timing{Sent: time.Second, Within: time.Minute}
	still, asks := w1.key.entrants(batch, when)
	require.Equal(t, []*localqueue.Waiter{&w3.Waiter}, still)
	require.Equal(t, []store.Ask{{ID: w3.ID, Timing: when}}, asks)
	require.Empty(t, w1.key.registered(still, store.EnqueueReply{Tickets: []int64{4}}, store.Receipt{Late: 7}, true))
	require.Equal(t, store.Late(7), w3.entering())
	require.Equal(t, store.Ask{ID: w3.ID, Ticket: 4}, w3.nextAsk().ask)
	_, left = w3.leave()
	require.Equal(t, localqueue.Remains{ID: w3.ID, Late: 7}, left)
	w1.leave()
	require.NotNil(t, f.key("k"), "the registrar is at work")
	require.Empty(t, w1.key.unplaced())
	f.empty()
}
