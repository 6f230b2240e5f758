package faultproxy

import "sync"

// Gate holds back what waits at it until it is opened. The zero value is unusable: see [NewGate].
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

// Open opens the gate for good: what arrives later passes at once.
func (g *Gate) Open() { g.open.Do(func() { close(g.opened) }) }

// Delivered is closed when the first of what waited at the gate has arrived: Redis has executed a held or late
// request, or the client has received a held reply.
func (g *Gate) Delivered() <-chan struct{} { return g.delivered }

func (g *Gate) arrived() { g.deliver.Do(func() { close(g.delivered) }) }
