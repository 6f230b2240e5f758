package simulation_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/simulation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whole clients keep what they promise in schedules that chance makes.
func TestSchedules(t *testing.T) { simulation.Until(t, 4*time.Second) }
