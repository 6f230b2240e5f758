package job

import (
	"os"

	"golang.org/x/sys/unix"
)

// sharedNow reads the clock that all processes share. It counts the time for which the machine was suspended.
func sharedNow() instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // the kernel has had this clock since 2.6.39
	}
	return instant(t.Nano())
}

// alarm rings at an instant of the shared clock: after a suspension at once, where a timer of Go would still sleep.
type alarm struct {
	rings chan struct{} // has room for one
	timer *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &alarm{rings: make(chan struct{}, 1), timer: os.NewFile(uintptr(fd), "alarm")}
	go a.listen()
	return a, nil
}

// listen passes on what the timer says, until it is closed.
func (a *alarm) listen() {
	var expirations [8]byte
	for {
		if _, err := a.timer.Read(expirations[:]); err != nil {
			return
		}
		select {
		case a.rings <- struct{}{}:
		default: // it rings already
		}
	}
}

// set makes the alarm ring at that instant, and not at an earlier one that was set before. It may have rung for that
// one already: who hears it looks at the clock.
func (a *alarm) set(at instant) error {
	at = max(at, 1) // zero would turn it off
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	var failed error
	conn, err := a.timer.SyscallConn()
	if err != nil {
		return err
	}
	err = conn.Control(func(fd uintptr) {
		failed = os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil))
	})
	if err != nil {
		return err
	}
	return failed
}

func (a *alarm) close() { _ = a.timer.Close() }
