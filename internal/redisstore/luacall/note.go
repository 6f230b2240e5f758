package luacall

import (
	"fmt"
	"strconv"

	"github.com/holdfast-go/holdfast/internal/store"
)

var (
	noteScript  = newScript("note")
	notedScript = newScript("noted")
)

// noteTTL is for how long a note is kept, in ms, if nobody writes it again: it ends with its hold, and this only clears
// away what a holder that died left.
const noteTTL = 366 * 24 * 60 * 60 * 1000

// Note writes what a holder says of itself beside its lock, or takes it away.
func Note(lock, note string, n store.Note, take bool) *Call[Status] {
	if err := check("note", checkKey("lock", lock), checkKey("note", note), checkID(n.ID)); err != nil {
		return refuse[Status](err)
	}
	ttl := int64(noteTTL)
	if take {
		ttl = 0
	}
	return newCall(&noteScript, 2, decodeStatus, lock, note, n.ID, n.Fence, ttl, n.Text)
}

func decodeStatus(value any) (Status, error) {
	r := reader{values: []any{value}}
	return r.status(0, statuses{Done, Busy, Gone}), r.err
}

// Noted reads what the holder of a lock says of itself.
func Noted(lock, note string) *Call[store.Note] {
	if err := check("noted", checkKey("lock", lock), checkKey("note", note)); err != nil {
		return refuse[store.Note](err)
	}
	return newCall(&notedScript, 2, decodeNote, lock, note)
}

func decodeNote(value any) (n store.Note, err error) {
	if none, ok := value.([]any); ok && len(none) == 0 {
		return n, nil
	}
	r := newReader(value, 4)
	var text [4]string
	for i := range text {
		text[i] = r.text(i)
	}
	n.ID, n.Text = text[0], text[3]
	if n.Fence, err = strconv.ParseInt(text[1], 10, 64); err != nil {
		r.fail(fmt.Errorf("lua: the token of a note is not an integer: %w", err))
	}
	if n.Since, err = strconv.ParseInt(text[2], 10, 64); err != nil {
		r.fail(fmt.Errorf("lua: the time of a note is not an integer: %w", err))
	}
	return n, r.err
}
