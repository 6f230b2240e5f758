package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

func (p *place) note(id string, fence int64, text string) *luacall.Call[luacall.Status] {
	return luacall.Note(p.lock, "holdfast_note:{"+p.lock+"}", store.Note{ID: id, Fence: fence, Text: text}, false)
}

func (p *place) unnote(id string, fence int64) *luacall.Call[luacall.Status] {
	return luacall.Note(p.lock, "holdfast_note:{"+p.lock+"}", store.Note{ID: id, Fence: fence}, true)
}

func (p *place) noted() store.Note {
	return run(p, luacall.Noted(p.lock, "holdfast_note:{"+p.lock+"}"))
}

// A note counts while the hold stands that wrote it, whatever happens to the lock then.
func TestNote(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		require.Equal(t, luacall.Gone, run(p, p.note(alice, 1, "x")))
		fence := run(p, p.acquire(alice)).Fence
		require.Zero(t, p.noted())
		require.Equal(t, luacall.Done, run(p, p.note(alice, fence, "here")))
		first := p.noted()
		require.Equal(t, store.Note{ID: alice, Fence: fence, Since: first.Since, Text: "here"}, first)
		require.Positive(t, first.Since)
		require.Equal(t, luacall.Done, run(p, p.note(alice, fence, "there")))
		require.Equal(t, store.Note{ID: alice, Fence: fence, Since: first.Since, Text: "there"}, p.noted())

		run(p, p.release(alice))
		require.Zero(t, p.noted())
		next := run(p, p.acquire(bob)).Fence
		require.Zero(t, p.noted())
		require.Equal(t, luacall.Gone, run(p, p.note(alice, fence, "stale")), "it was stopped before it wrote")
		require.Zero(t, p.noted())
		require.Equal(t, luacall.Done, run(p, p.note(bob, next, "")))
		require.Equal(t, next, p.noted().Fence)
		require.GreaterOrEqual(t, p.noted().Since, first.Since)
	})
}

// Turns of one grant have one id and tokens of their own.
func TestNoteOfAnEarlierTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		run(p, p.note(alice, 7, "first"))
		run(p, p.note(alice, 8, "second"))
		require.Equal(t, luacall.Busy, run(p, p.note(alice, 7, "late")))
		require.Equal(t, luacall.Busy, run(p, p.unnote(alice, 7)))
		require.Equal(t, "second", p.noted().Text)
		require.Equal(t, luacall.Done, run(p, p.unnote(alice, 8)))
		require.Zero(t, p.noted())
		require.Zero(t, p.do("EXISTS holdfast_note:{%s}", p.lock))
	})
}
