package watchdog_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/watchdog"
)

// A clock that was put forward goes on from there, and a wheel that is woken calls what has become due.
func TestAClockThatIsPutForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := watchdog.NewClock()
		wheel := watchdog.NewWheel(clock, 0)
		defer wheel.Close()
		fired := make(chan time.Duration, 1)
		var due, wake watchdog.Timer
		due.Init(func(any) { fired <- clock.Now() }, nil)
		wake.Init(func(any) {}, nil)
		wheel.Schedule(&due, time.Hour)
		clock.Advance(time.Hour)
		wheel.Schedule(&wake, 0)
		require.Equal(t, time.Hour, <-fired)
		time.Sleep(time.Minute)
		require.Equal(t, time.Hour+time.Minute, clock.Now())
		require.Panics(t, func() { clock.Advance(-1) })
	})
}
