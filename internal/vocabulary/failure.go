package vocabulary

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/lock"
)

// failure says what could not be done, and why. Its text has the name of the module once.
type failure struct {
	what    string
	reasons []error
}

func (f *failure) Error() string {
	text := "holdfast: cannot " + f.what
	for _, reason := range f.reasons {
		text += ": " + strings.TrimPrefix(reason.Error(), "holdfast: ")
	}
	return text
}

// Unwrap returns what the store did, and behind it the cause.
func (f *failure) Unwrap() []error { return f.reasons }

// Failure is the error of a call that asks the store without taking or releasing a lock. It is closed if the client is.
func Failure(ctx context.Context, words engine.Errors, what string, closed bool, err error) error {
	switch {
	case ctx.Err() != nil:
		return &failure{what, []error{engine.ContextError(ctx)}}
	case closed:
		return &failure{what, []error{lock.ErrClosed}}
	}
	kind, cause := words.Unanswered(err)
	return &failure{what, []error{kind, cause}}
}
