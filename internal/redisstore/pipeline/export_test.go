package pipeline

// Gathered is how many calls wait for a node, with those that were left.
func (p *Pipe) Gathered(name string) int {
	n := p.node(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queue)
}

// The limits of a node.
const (
	Workers   = workers
	Most      = most
	MostBytes = mostBytes
)

// Nodes is how many nodes the pipe has.
func (p *Pipe) Nodes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.nodes)
}
