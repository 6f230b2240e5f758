package simulation

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// queueLab is a book of one fair lock. A test writes in it who called, who was served, and who gave up.
type queueLab struct {
	book *book
	lock *rlock.Lock
}

func newQueueLab(t *testing.T) *queueLab {
	net := &network{began: time.Now()}
	w := &world{kind: &invitationKind, server: memstore.NewServer(net)}
	client := w.open(t, 0, true).client
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		w.server.Close()
	})
	return &queueLab{newBook(&invitationKind, net), rlock.New(client, "a")}
}

// calls notes a call, and lets the next one be later.
func (l *queueLab) calls(client int) *wait {
	call := l.book.begin(&wait{want: of(l.lock, 1, false), client: client, queues: true})
	time.Sleep(time.Millisecond)
	return call
}

// isServed notes that a call has its turn.
func (l *queueLab) isServed(call *wait) {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	delete(call.waits, call)
	l.book.orderLocked(call)
}

// A call that is served after a later one of another process is noted, unless a call of that process gave up before the
// later one was served, which may have had its turn. Where both happen at one instant, it makes no difference which is
// noted first (seed 697875931127), nor that the call returns some round trips after it gave up (seed 419446824997). A
// call that gives up later explains nothing.
func TestALaterCallMayHaveTheTurnOfOneThatGaveUp(t *testing.T) {
	for name, c := range map[string]struct {
		happens  func(l *queueLab, gone, later *wait)
		problems int
	}{
		"nobody gave up":     {func(l *queueLab, _, later *wait) { l.isServed(later) }, 1},
		"one gave up":        {func(l *queueLab, gone, later *wait) { l.book.fail(gone); l.isServed(later) }, 0},
		"it is noted second": {func(l *queueLab, gone, later *wait) { l.isServed(later); l.book.fail(gone) }, 0},
		"it gave up a moment later": {func(l *queueLab, gone, later *wait) {
			l.isServed(later)
			time.Sleep(time.Nanosecond)
			l.book.fail(gone)
		}, 1},
		"it returned some round trips later": {func(l *queueLab, gone, later *wait) {
			l.book.place = time.Millisecond
			l.isServed(later)
			time.Sleep(l.book.place)
			l.book.fail(gone)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newQueueLab(t)
				gone, earlier, later := l.calls(2), l.calls(1), l.calls(2)
				c.happens(l, gone, later)
				l.isServed(earlier)
				require.Len(t, l.book.problems, c.problems)
			})
		})
	}
}
