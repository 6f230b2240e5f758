package pipeline

// Gathered is how many commands wait for a node.
func (p *Pipe) Gathered(shard string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.nodes[shard]; n != nil {
		return len(n.queue)
	}
	return 0
}

// MaxInFlight is how many commands are under way to a node before more gather.
const MaxInFlight = maxInFlight
