package crashpoints_test

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// TestMain is also the subject's: this test binary, started again with a pair in its environment. Ten pairs run at a
// time, however few processors there are, because they mostly wait for leases to end. An explicit -parallel takes
// precedence.
func TestMain(m *testing.M) {
	if os.Getenv(subjectEnv) != "" {
		subjectMain()
		return
	}
	redistest.InParallel(10)
	redistest.Main(m)
}
