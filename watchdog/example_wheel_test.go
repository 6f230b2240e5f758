package watchdog_test

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

func ExampleWheel() {
	clock := watchdog.NewClock()
	wheel := watchdog.NewWheel(clock, time.Millisecond)
	defer wheel.Close()

	// A timer is part of what it wakes: arming it allocates nothing.
	type session struct {
		name    string
		timeout watchdog.Timer
		over    chan string
	}
	over := make(chan string)
	timedOut := func(arg any) {
		s := arg.(*session)
		go func() { s.over <- s.name }() // the wheel must not wait
	}
	idle, busy := &session{name: "idle", over: over}, &session{name: "busy", over: over}
	for _, s := range []*session{idle, busy} {
		s.timeout.Init(timedOut, s)
		wheel.Schedule(&s.timeout, clock.Now()+20*time.Millisecond)
	}

	wheel.Schedule(&busy.timeout, clock.Now()+time.Hour) // something was heard of it
	fmt.Println(<-over, "has timed out")
	fmt.Println("cancelled:", wheel.Cancel(&busy.timeout))
	// Output:
	// idle has timed out
	// cancelled: true
}
