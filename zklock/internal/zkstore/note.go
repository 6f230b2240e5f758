package zkstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// note is what is noted of a hold, as its node's data.
type note struct {
	Fence int64  `json:"fence"`
	Since int64  `json:"since"` // by the holder's clock
	Text  string `json:"text"`
}

// Note implements [store.Noter].
func (l *Lock) Note(ctx context.Context, given store.Note, take bool) (store.Status, error) {
	sent, cancel, err := l.store.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	n, p := l.store.find(l, given.ID)
	if p == nil {
		return store.Gone, nil
	}
	path, _, _ := n.known(p)
	if path == "" {
		return store.Gone, nil
	}
	for range 3 { // another turn of this process may write at the same time
		status, err := n.note(sent, path, given, take)
		if errors.Is(err, wire.NoNode) || errors.Is(err, errOver) {
			return store.Gone, nil
		}
		if !errors.Is(err, wire.BadVersion) {
			return status, err
		}
	}
	return 0, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errSwapped}
}

func (n *session) note(ctx context.Context, path string, given store.Note, take bool) (store.Status, error) {
	replies, err := n.ask(ctx, "note", wire.Get(path))
	if err != nil {
		return 0, err
	}
	noted, stat, err := replies[0].Data()
	if err != nil {
		return 0, meaning(err)
	}
	known, _ := noteOf(noted)
	if known.Fence > given.Fence {
		return store.Busy, nil
	}
	next := note{Fence: given.Fence, Since: known.Since, Text: given.Text}
	if known.Fence != given.Fence {
		next.Since = time.Now().UnixMicro()
	}
	noted = nil
	if !take {
		if noted, err = json.Marshal(next); err != nil {
			return 0, &store.Refused{Err: err}
		}
	}
	if replies, err = n.ask(ctx, "note", wire.Set(path, noted, stat.Version)); err != nil {
		return 0, err
	}
	if _, err = replies[0].Stat(); err != nil {
		return 0, meaning(err)
	}
	return store.Done, nil
}

// noteOf is what was noted of a hold; false: nothing was, or not by us.
func noteOf(value []byte) (n note, ok bool) {
	if len(value) == 0 || json.Unmarshal(value, &n) != nil {
		return note{}, false
	}
	return n, true
}

// Noted implements [store.Noter].
func (l *Lock) Noted(ctx context.Context) (store.Note, error) {
	sent, cancel, err := l.store.begin(ctx)
	if err != nil {
		return store.Note{}, err
	}
	defer cancel()
	f, err := l.first(sent, "note")
	if err != nil || f.name == "" {
		return store.Note{}, err
	}
	n, ok := noteOf(f.data)
	if !ok {
		return store.Note{}, nil
	}
	id, _ := idOf(f.name)
	return store.Note{ID: id, Fence: n.Fence, Since: n.Since, Text: n.Text}, nil
}

var errSwapped = errors.New("the note was changed by another request")
