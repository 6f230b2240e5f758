package engine

import (
	"context"
	"errors"
)

// ours hides a command's own deadline from errors.Is. A caller that looks for context.DeadlineExceeded asks about
// its own context, and would otherwise give up on a Redis that was slow once.
func ours(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return opaque{err}
	}
	return err
}
