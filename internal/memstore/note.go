package memstore

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Note implements [store.Noter], as note.lua does it.
func (b *bound) Note(ctx context.Context, note store.Note, take bool) (store.Status, error) {
	return exchange(ctx, b.store, Note, b.Key(), func() (store.Status, error) {
		s, key := b.store.server, b.Key()
		if l := s.lockLocked(key); l == nil || l.id != note.ID {
			return store.Gone, nil
		}
		switch known := s.notes[key]; {
		case known.Fence > note.Fence:
			return store.Busy, nil
		case take:
			delete(s.notes, key)
			return store.Done, nil
		case known.Fence == note.Fence:
			note.Since = known.Since
		default:
			note.Since = s.microsLocked()
		}
		s.notes[key] = note
		return store.Done, nil
	})
}

// Noted implements [store.Noter].
func (b *bound) Noted(ctx context.Context) (store.Note, error) {
	return exchange(ctx, b.store, Inspect, b.Key(), func() (store.Note, error) {
		note := b.store.server.notes[b.Key()]
		if l := b.store.server.lockLocked(b.Key()); l == nil || l.id != note.ID {
			return store.Note{}, nil
		}
		return note, nil
	})
}
