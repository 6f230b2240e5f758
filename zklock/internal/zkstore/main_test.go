package zkstore

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
)

func TestMain(m *testing.M) { zktest.Main(m) }
