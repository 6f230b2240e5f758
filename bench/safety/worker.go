package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// orders are what a client process is told at its start.
type orders struct {
	Library string
	At      site
	Seed    uint64
}

// clients are processes with one library each, which lock one name over and over.
var clients = role.New("peer", func(o orders) {
	e, _ := entryOf(o.Library)
	l, err := e.open(o.At, e.lease)
	role.Check(err)
	w := &worker{library: l, random: rand.New(rand.NewPCG(o.Seed, 2))}
	go w.obey()
	w.roam()
})

// lockName is the name that all contend for.
const lockName = "peers-safety"

// What a process is told.
const (
	sayStay  = "stay"  // at the next acquisition, stay inside until "leave", or a loss
	sayLeave = "leave" // leave
	sayPause = "pause" // make no further call
)

// What a process tells, with stamps in nanoseconds.
const (
	lineClock  = "clock"  // first of all: what its clock says
	lineCall   = "call"   // it asks for the lock: called
	lineIn     = "in"     // it is inside: called from token staying
	lineOut    = "out"    // it leaves: to told stopped resumed
	lineFailed = "failed" // it did not get the lock: returned
	lineLeft   = "left"   // the release returned: returned refused
	linePaused = "paused"
)

// tick is how often a holder looks whether it is told of a loss.
const tick = 2 * time.Millisecond

// stoppedFor is the silence between two looks that counts as a stop of the holder.
const stoppedFor = 50 * time.Millisecond

type worker struct {
	library library
	random  *rand.Rand
	stay    atomic.Bool
	pause   atomic.Bool

	mu sync.Mutex // of the output
}

func (w *worker) tell(word string, figures ...time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := word
	for _, f := range figures {
		line += fmt.Sprint(" ", int64(f))
	}
	if _, err := fmt.Println(line); err != nil {
		os.Exit(1) // nobody reads any more
	}
}

func (w *worker) obey() {
	for {
		switch role.Told() {
		case sayStay:
			w.stay.Store(true)
		case sayLeave:
			w.stay.Store(false)
		case sayPause:
			w.stay.Store(false)
			w.pause.Store(true)
		}
	}
}

// roam makes calls until it is told to pause, and then waits to be killed.
func (w *worker) roam() {
	w.tell(lineClock, stamp.Now())
	for !w.pause.Load() {
		w.attempt()
		time.Sleep(2*time.Millisecond + time.Duration(w.random.IntN(8))*time.Millisecond)
	}
	w.tell(linePaused)
	select {}
}

func (w *worker) attempt() {
	called, entered := stamp.Now(), false
	w.tell(lineCall, called)
	err := w.library.do(context.Background(), lockName, func(h hold) {
		entered = true
		w.inside(called, h)
	})
	switch {
	case entered && err != nil:
		w.tell(lineLeft, stamp.Now(), 1)
	case entered:
		w.tell(lineLeft, stamp.Now(), 0)
	default:
		w.tell(lineFailed, stamp.Now())
		time.Sleep(50 * time.Millisecond) // as after an error that may pass
	}
}

// inside stays for a while, and takes the time whenever it has just seen that it was told of no loss.
func (w *worker) inside(called time.Duration, h hold) {
	from := stamp.Now()
	staying := w.stay.Load()
	var flag time.Duration
	if staying {
		flag = 1
	}
	w.tell(lineIn, called, from, time.Duration(h.token), flag)
	end := from + time.Duration(w.random.IntN(5))*time.Millisecond
	to, told, stopped, resumed := from-1, time.Duration(0), time.Duration(0), time.Duration(0)
	for last := from; ; {
		now := stamp.Now()
		if gap := now - last; gap > stoppedFor {
			stopped, resumed = stopped+gap, now
		}
		last = now
		if h.lost() {
			told = stamp.Now()
			w.stay.CompareAndSwap(staying, false)
			break
		}
		to = now
		if staying && !w.stay.Load() || !staying && now >= end {
			break
		}
		select {
		case <-time.After(tick):
		case <-h.done:
		}
	}
	w.tell(lineOut, to, told, stopped, resumed)
}
