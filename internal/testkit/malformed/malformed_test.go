package malformed_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/malformed"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Whatever a server answers, the process goes on, calls end in their time, and nothing is taken for a reply (defect
// F5). A minute of it is in package integration.
func TestNoAnswerHarmsTheProcess(t *testing.T) { malformed.Until(t, 4*time.Second) }
