package fence_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/fipsmode"
)

// This is defect G65.
func TestAGuardWhereOnlyFIPSIsAllowed(t *testing.T) {
	t.Parallel()
	fipsmode.Run(t, "^TestRedis")
}
