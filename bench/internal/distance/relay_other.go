//go:build !linux

package distance

import (
	"errors"
	"time"
)

// Available reports whether there are relays on this system.
const Available = false

// Relay needs Linux.
type Relay struct{}

// Open fails.
func Open(time.Duration, []string) (*Relay, error) {
	return nil, errors.New("distance: the relay needs Linux")
}

// Addrs are the addresses to connect to.
func (r *Relay) Addrs() []string { return nil }

// CPU is the processor time that the relay has used.
func (r *Relay) CPU() time.Duration { return 0 }

// Late is by how much what was delivered since the last call came too late.
func (r *Relay) Late() time.Duration { return 0 }

// Reset begins a count of round trips.
func (r *Relay) Reset() {}

// Trips is how many came one after the other since the last reset.
func (r *Relay) Trips() int { return 0 }

// Close ends it.
func (r *Relay) Close() error { return nil }
