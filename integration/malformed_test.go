package integration_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/malformed"
)

// Whatever a server answers, the process goes on, calls end in their time, and nothing is taken for a reply (defect
// F5). Package malformed runs a few seconds of it with each make test.
func TestAMinuteOfMalformedAnswers(t *testing.T) { malformed.Until(t, time.Minute) }
