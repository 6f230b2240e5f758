package engine

import (
	"context"
	"errors"
)

// Unanswered says what callers are told of a request that the store did not serve: what it is, and why.
func (w *Errors) Unanswered(err error) (kind, cause error) { return w.silence(err), ours(err) }

// ours hides a command's own deadline from errors.Is. A caller that looks for context.DeadlineExceeded asks about
// its own context, and would otherwise give up on a store that was slow once.
func ours(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return opaque{err}
	}
	return err
}
