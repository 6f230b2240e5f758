package redlock_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

func TestMain(m *testing.M) {
	role.Play()
	redistest.ServeExamples(2)
	redistest.Main(m)
}
