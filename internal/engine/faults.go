package engine

import (
	"context"
	"errors"
)

// ours hides a command's own deadline from errors.Is.
func ours(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return opaque{err}
	}
	return err
}
