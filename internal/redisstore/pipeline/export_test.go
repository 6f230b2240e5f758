package pipeline

import "time"

// Measured has the round trip of a node be known, for longer than any test runs.
func (p *Pipe) Measured(shard string, trip time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodeLocked(shard)
	n.since, n.near, n.before = time.Now().Add(time.Hour), trip, trip
}

// Gathered is how many commands wait for a node.
func (p *Pipe) Gathered(shard string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[shard]; n != nil {
		return len(n.queue)
	}
	return 0
}

// FewInFlight is how many commands are under way to a node nearby before more gather.
const FewInFlight = fewInFlight

// ManyInFlight is that of a distant node.
const ManyInFlight = manyInFlight
