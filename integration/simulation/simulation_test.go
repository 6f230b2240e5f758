package simulation_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/simulation"
)

// Random schedules. A failure prints its seed, and the command that runs it again.
func TestSchedules(t *testing.T) { simulation.Until(t, "", time.Minute) }
