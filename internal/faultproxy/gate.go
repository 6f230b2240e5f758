package faultproxy

import "sync"

// Gate holds back what waits at it until it is opened. The zero value is of no use: see [NewGate].
type Gate struct {
	opened    chan struct{}
	delivered chan struct{}
	open      sync.Once
	deliver   sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate {
	return &Gate{opened: make(chan struct{}), delivered: make(chan struct{})}
}

// Open opens the gate, for good: what comes later passes at once.
func (g *Gate) Open() { g.open.Do(func() { close(g.opened) }) }

// Delivered is closed when what waited at the gate, or the first of it, has arrived: a held or
// late request was carried out by Redis, a held reply was passed to the client.
func (g *Gate) Delivered() <-chan struct{} { return g.delivered }

func (g *Gate) arrived() { g.deliver.Do(func() { close(g.delivered) }) }
