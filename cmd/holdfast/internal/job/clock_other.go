//go:build unix && !linux && !aix

package job

import "time"

// sharedNow reads the clock that all processes share. It is the wall clock: setting it back makes a hold seem valid for
// longer.
func sharedNow() instant { return instant(time.Now().UnixNano()) }

// alarm rings at an instant of the shared clock.
type alarm struct {
	rings chan struct{} // has room for one
	timer *time.Timer
}

func newAlarm() (*alarm, error) {
	a := &alarm{rings: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(time.Hour, func() {
		select {
		case a.rings <- struct{}{}:
		default: // it rings already
		}
	})
	a.timer.Stop()
	return a, nil
}

// set makes the alarm ring at that instant, and not at an earlier one that was set before. It may have rung for that
// one already: who hears it looks at the clock.
func (a *alarm) set(at instant) error {
	a.timer.Reset(time.Duration(at - sharedNow()))
	return nil
}

func (a *alarm) close() { a.timer.Stop() }
