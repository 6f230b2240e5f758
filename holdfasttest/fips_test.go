package holdfasttest_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/fipsmode"
)

// This is defect G65.
func TestTheKitWhereOnlyFIPSIsAllowed(t *testing.T) {
	t.Parallel()
	fipsmode.Run(t, "^TestEachKindOfLockWorks$/^outside$")
}
