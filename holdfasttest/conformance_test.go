package holdfasttest_test

import (
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/rlock"
)

// own is a lock of somebody else's making: here one of ours, under another name.
type own struct{ holdfasttest.Locker }

func subject(t testing.TB, lease time.Duration) holdfasttest.Subject {
	var processes [2]*rlock.Client
	lab := holdfasttest.New(t)
	for i := range processes {
		processes[i] = lab.Client(&rlock.ClientOptions{Lease: lease})
	}
	return holdfasttest.Subject{
		Lock: func(process int, name string, limits holdfasttest.Limits) holdfasttest.Locker {
			return own{rlock.New(processes[process], "own:"+name, limits.Options()...)}
		},
		Close: func(process int) error { return processes[process].Close() },
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("in bubbles", func(t *testing.T) { holdfasttest.ConformanceInBubbles(t, subject) })
	t.Run("outside", func(t *testing.T) { holdfasttest.Conformance(t, subject) })
}
