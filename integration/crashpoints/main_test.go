package crashpoints_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

// TestMain is also the subjects'. Ten pairs run at a
// time, however few processors there are, because they mostly wait for leases to end. An explicit -parallel takes
// precedence.
func TestMain(m *testing.M) {
	role.Play()
	redistest.InParallel(10)
	redistest.Main(m)
}
