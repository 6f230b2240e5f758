package simulation_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/simulation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whole clients keep what they promise in schedules that chance makes.
func TestSchedules(t *testing.T) { simulation.Until(t, "", 4*time.Second) }

// The same of fair locks alone, of which few schedules are such that the order can be checked.
func TestFairSchedules(t *testing.T) { simulation.Until(t, "fair", 3*time.Second) }

// The same of sets of locks, beside callers that want one of their names.
func TestSetSchedules(t *testing.T) { simulation.Until(t, "multilock", 3*time.Second) }

// The same of locks over independent servers.
func TestRedlockSchedules(t *testing.T) { simulation.Until(t, "redlock", 3*time.Second) }

// The same of fair locks whose invitations come late and twice.
func TestInvitationSchedules(t *testing.T) { simulation.Until(t, "invitations", 3*time.Second) }

// The same of fair locks whose turns pass in memory while holds are broken and processes are away (defect F9).
func TestRunSchedules(t *testing.T) { simulation.Until(t, "runs", 3*time.Second) }
