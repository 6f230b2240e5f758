package redlock_test

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// roles are the programs that a test starts as a process of its own: this test binary, started again with
// the role in its environment. Test files add theirs in init.
var roles = map[string]func(){}

const roleEnv = "HOLDFAST_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := roles[os.Getenv(roleEnv)]; role != nil {
		role()
		return
	}
	redistest.ServeExamples(2)
	redistest.Main(m)
}
