package crashpoints_test

import (
	"flag"
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

// TestMain is also the subject's: this test binary, started again with a pair in its environment. Ten pairs run at a
// time, however few processors there are, because they mostly wait for leases to end. An explicit -parallel takes
// precedence.
func TestMain(m *testing.M) {
	if os.Getenv(subjectEnv) != "" {
		subjectMain()
		return
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "10")
	}
	redistest.Main(m)
}
