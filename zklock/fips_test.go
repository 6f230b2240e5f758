package zklock_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/fipsmode"
)

// This is defect G65.
func TestLocksWhereOnlyFIPSIsAllowed(t *testing.T) {
	t.Parallel()
	fipsmode.Run(t, "^TestInspect$|^TestTLS$")
}
