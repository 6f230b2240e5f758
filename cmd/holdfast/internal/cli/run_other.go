//go:build !unix || aix

package cli

import (
	"context"
	"errors"
)

// supervise is for systems with processes that can be adopted and signalled.
func supervise([]string) (code int, is bool) { return 0, false }

// run is refused: without signals and process groups nothing would end the command in time.
func (*runFlags) run(context.Context, string, []string) error {
	return codeError{exitSystem, errors.New("run is not supported on this system; it needs a Unix, at best Linux")}
}
