package rwlock_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

func TestMain(m *testing.M) {
	role.Play()
	redistest.ServeExamples(1)
	redistest.Main(m)
}
