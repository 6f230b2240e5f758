package crashpoints_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/lock"
)

// report is a line that the subject writes: an event and its time.
type report struct {
	Kind  string        // one of the kinds below
	At    time.Duration // by the clock that all processes share
	Point crash.Point   `json:",omitempty"`
	Stay  *stay         `json:",omitempty"`
	Call  *callReport   `json:",omitempty"`
	Text  string        `json:",omitempty"`
}

// The kinds of reports.
const (
	passed  = "passed"  // a point
	fired   = "fired"   // the strike is about to fall
	resumed = "resumed" // the process was stopped, and runs again
	stayed  = "stayed"  // a stay as it is known by now; a later one of the same id replaces it
	called  = "called"  // a call has returned
	stalled = "stalled" // how long the process got no processor, at worst
	leaked  = "leaked"  // goroutines left at the end
	done    = "done"
)

// stay is a time during which a hold was treated as live: the first and the last certain moment.
type stay struct {
	witness.Hold
	ID    int
	Moved bool // it goes on with a hold of another client, whose token it keeps
}

type callReport struct {
	Name  string
	Took  time.Duration
	Word  string
	Want  string // the word, if the action is a transparent one
	Error string
}

// word is an error as one word of the vocabulary; "alien" is any other error.
func word(err error) string {
	if err == nil {
		return "nil"
	}
	said := ""
	for _, w := range []struct {
		word string
		is   error
	}{
		{"busy", lock.ErrBusy}, {"unavailable", lock.ErrUnavailable}, {"lost", lock.ErrLost},
		{"unconfirmed", lock.ErrUnconfirmed},
		{"not-held", lock.ErrNotHeld}, {"closed", lock.ErrClosed}, {"released", lock.ErrReleased},
	} {
		if errors.Is(err, w.is) {
			said = w.word
			break
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "alien" // no deadline here ends before all is over
	case errors.Is(err, context.Canceled) && (said == "busy" || said == "unavailable" || said == ""):
		return "canceled" // without a word: before anything was sent
	case said != "":
		return said
	case strings.HasPrefix(err.Error(), "holdfast: closed with locks still held"):
		return "held"
	}
	return "alien"
}
