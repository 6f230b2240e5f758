// Package handle is the inside of a lock and of an option of package lock, for the packages of this module that make
// or open one: a *lock.Lock and a *[Lock] convert to one another, and a lock.Option is a function of [Options].
// Outside of the module nobody can write either name, and the fields are hidden. So the conversion is closed to
// others, and the documentation of package lock does not mention it.
package handle

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
)

// Lock is the inside of a lock.Lock.
type Lock struct{ parts Parts }

// Parts are the components of a lock.
type Parts struct {
	Engine  *engine.Engine // nil in a zero Lock
	Request engine.Request // what its calls ask for, with the protocol
	MaxWait time.Duration  // the client's, for calls that set none; 0: none
	Err     error          // a bad argument, returned by every call
}

// NoLock is the problem of a lock without parts.
const NoLock = "must come from New; its zero value is no lock"

// New makes a lock of its parts. Their own error takes precedence over the protocol's error about the lease.
func New(p *Parts) *Lock {
	if p.Err == nil {
		p.Err = CheckLease(&p.Request)
	}
	return &Lock{*p}
}

// Parts returns the components of the lock, which a nil lock has as few of as a zero one. They must not be changed.
func (l *Lock) Parts() *Parts {
	if l == nil {
		return new(Parts)
	}
	return &l.parts
}

// CheckLease asks the protocol of a request whether it accepts the lease.
func CheckLease(req *engine.Request) error {
	if check := req.Proto.Traits().CheckLease; check != nil {
		option := "FixedLease"
		if req.Renewed {
			option = "Lease"
		}
		return check(option, req.Lease)
	}
	return nil
}

// Options are the settings of lock.Options; zero means not set.
type Options struct {
	Lease   time.Duration // fixed
	Renewed time.Duration // a lease that is renewed; not with a fixed one
	MaxWait time.Duration
	MaxHold time.Duration
	Refuses bool          // to enter a hold again
	Patient bool          // waits for a capacity that is too small
	Unused  time.Duration // after the last use, when the keys of a semaphore expire

	Capacity int64 // of a semaphore that has none

	MinHold time.Duration
	Grace   time.Duration
	Keep    time.Duration
	Yields  bool
	Err     error // the first bad value; returned by every call on the handle
}

// blank has what options are given to set, which is used again: many applications make a handle for each call.
var blank = sync.Pool{New: func() any { return new(Options) }}

// Collect returns the combined settings of all options. Nil options are skipped.
func Collect[Option ~func(*Options)](opts []Option) Options {
	if len(opts) == 0 {
		return Options{}
	}
	o := blank.Get().(*Options)
	defer blank.Put(o)
	*o = Options{}
	for _, opt := range opts {
		if opt != nil {
			opt(o)
		}
	}
	return *o
}

// Apply applies the settings to a request.
func (o *Options) Apply(req *engine.Request) {
	if o.Lease > 0 {
		req.Lease, req.Renewed = o.Lease, false
	}
	if o.Renewed > 0 {
		req.Lease, req.Renewed = o.Renewed, true
	}
	if o.MaxWait > 0 {
		req.MaxWait = o.MaxWait
	}
	if o.MinHold > 0 {
		req.MinHold = o.MinHold
	}
	if o.Keep > 0 {
		req.Keep = o.Keep
	}
	req.Yields = req.Yields || o.Yields
	if o.MaxHold > 0 {
		req.MaxHold = o.MaxHold
	}
	if o.Grace > 0 {
		req.Grace = o.Grace
	}
	if o.Refuses {
		req.Reentry = engine.Refused
	}
}

// CheckGrace returns what is wrong with the grace of a request, beside its lease, if anything. The first renewal is due
// after a third of the lease: in half of it one can have failed.
func CheckGrace(req *engine.Request) (problem string) {
	if req.Grace > req.Lease/2 {
		return fmt.Sprintf("must be at most half of the lease, which is %v", req.Lease)
	}
	return ""
}

const (
	// MinLease is the shortest lease.
	MinLease = 100 * time.Millisecond
	maxTime  = 366 * 24 * time.Hour
)

// RoundTime rounds a time up to whole milliseconds, the store's unit, and returns what is wrong with it, if anything.
func RoundTime(d *time.Duration, least time.Duration) (problem string) {
	if *d < least {
		return "must be at least " + least.String()
	}
	if *d > maxTime {
		return "must be at most a year"
	}
	if rest := *d % time.Millisecond; rest != 0 {
		*d += time.Millisecond - rest
	}
	return ""
}

// joined is two errors on one line.
type joined struct{ first, second error }

func (j *joined) Error() string   { return j.first.Error() + "; " + j.second.Error() }
func (j *joined) Unwrap() []error { return []error{j.first, j.second} }

// Join makes one error of two, on one line; either may be nil. One that is a part of the other is told once: work that
// returns context.Cause of its context returns the loss that unlock returns too.
func Join(first, second error) error {
	switch {
	case first == nil || errors.Is(second, first):
		return second
	case second == nil || errors.Is(first, second):
		return first
	}
	return &joined{first, second}
}

// Placed returns a request with the place of the call, if that may have to be told: looking at the stack takes a
// microsecond or two.
func Placed(req *engine.Request) *engine.Request {
	if req.Reentry != engine.Refused {
		return req
	}
	placed := *req
	placed.Place = place()
	return &placed
}

// place is the file and line from which a lock was called: that of the innermost function on the stack that is not one
// of the packages whose methods take locks. "": it is not known.
func place() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.File != "" && !takes(frame.Function) {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// takes reports that a function is of a package whose methods take locks for their callers. Their tests are not.
func takes(function string) bool {
	name, ours := strings.CutPrefix(function, "github.com/holdfast-go/holdfast/")
	pkg, _, _ := strings.Cut(name, ".")
	return ours && slices.Contains([]string{"internal/handle", "lock", "multilock", "semaphore", "leader"}, pkg)
}
