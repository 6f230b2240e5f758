package crashpoints_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

// TestMain is also the subjects'. Six pairs run at a time, however few processors there are, because they mostly wait
// for leases to end. More of them keep PostgreSQL, which makes a database for each pair, from answering within a
// request's limit. An explicit -parallel takes precedence.
func TestMain(m *testing.M) {
	role.Play()
	redistest.InParallel(6)
	redistest.Main(m)
}
