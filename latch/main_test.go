package latch_test

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) {
	redistest.ServeExamples(1)
	redistest.Main(m)
}
