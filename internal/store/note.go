package store

import "context"

// Note is what a holder says of itself beside its lock. The zero Note is none.
type Note struct {
	ID    string // of the hold
	Fence int64  // the hold's token
	Since int64  // when the token was first noted, in server time in µs; not of a note that is to be written
	Text  string
}

// A Noter is a protocol that keeps a note beside the lock for as long as the hold stands; see [Traits].
type Noter interface {
	// Note writes a note, or takes it away. The status is Done; Gone if the hold is not there; Busy if there is one
	// of a newer token. A copy changes nothing.
	Note(ctx context.Context, note Note, take bool) (Status, error)
	// Noted reads the note of the hold that stands now.
	Noted(ctx context.Context) (Note, error)
}
