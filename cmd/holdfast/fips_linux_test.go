package main

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/fipsmode"
)

// This is defect G65.
func TestTheCommandWhereOnlyFIPSIsAllowed(t *testing.T) {
	t.Parallel()
	fipsmode.Run(t, "^TestCtrlZWithoutAShellDoesNothing$")
}
