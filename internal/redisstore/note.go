package redisstore

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A Noting is a protocol whose holds are fields of a hash, beside which there is a key for a note of the holder; see
// [store.Noter].
type Noting interface {
	NoteKey() string
}

// Note waits for no replicas: nobody's exclusion depends on it.
func (b *bound) Note(ctx context.Context, note store.Note, take bool) (luacall.Status, error) {
	p, ok := b.Protocol.(Noting)
	if !ok {
		return 0, &store.Refused{Err: errUnsupported}
	}
	status, err := luacall.Note(b.Key(), p.NoteKey(), note, take).Run(ctx, b.store.traffic)
	return status, meaning(err)
}

// Noted implements [store.Noter].
func (b *bound) Noted(ctx context.Context) (store.Note, error) {
	p, ok := b.Protocol.(Noting)
	if !ok {
		return store.Note{}, &store.Refused{Err: errUnsupported}
	}
	note, err := luacall.Noted(b.Key(), p.NoteKey()).Run(ctx, b.store.traffic)
	return note, meaning(err)
}
