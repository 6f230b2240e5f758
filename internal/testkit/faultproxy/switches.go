package faultproxy

import "time"

// Blackhole switches a state on or off in which nothing gets through: connections stay open, new
// ones are accepted, and every byte is lost in both directions, as is the end of a connection.
// Requests that were forwarded before are executed. Switching it off cuts the connections that
// lost bytes.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	p.blackhole = on
	conns := p.snapshotLocked()
	if !on {
		for client := range p.holes {
			_ = client.Close()
			delete(p.holes, client)
		}
	}
	p.mu.Unlock()
	for _, c := range conns {
		if on {
			c.blackhole()
		} else if c.isBlackholed() {
			c.close()
		}
	}
}

// Forget has the present connections lose everything from now on, in both directions, the end of the connection
// included, as a balancer does that has forgotten them. New ones are served. It returns how many there were.
func (p *Proxy) Forget() int {
	conns := p.snapshot()
	for _, c := range conns {
		c.blackhole()
	}
	return len(conns)
}

// Refuse switches a state on or off in which new connections are refused, and those that are still being made end. The
// existing ones stay.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	listener := p.listener
	if on == (listener == nil) || p.ended {
		p.mu.Unlock()
		return
	}
	if on {
		p.listener = nil
	}
	p.mu.Unlock()
	if on {
		_ = listener.Close()
		return
	}
	listener, err := p.port.Listen()
	if err != nil {
		p.t.Errorf("faultproxy: %v", err)
		return
	}
	p.accept(listener)
}

// CutAll cuts all connections. Requests that were forwarded before are executed.
func (p *Proxy) CutAll() {
	for _, c := range p.snapshot() {
		c.cut()
	}
}

// CutSubscribers cuts the connections that are subscribed to anything, or have asked to be.
func (p *Proxy) CutSubscribers() {
	for _, c := range p.snapshot() {
		if c.isSubscriber() {
			c.cut()
		}
	}
}

// SwallowMessages switches a state on or off in which published messages are lost. Everything
// else on the subscribers' connections gets through.
func (p *Proxy) SwallowMessages(on bool) { p.swallow.Store(on) }

// Dribble has every byte arrive within a piece of three at most, with a pause after each. No rule may answer or delay
// requests meanwhile: what it writes would come in between.
func (p *Proxy) Dribble() { p.dribble.Store(true) }

// Latency delays everything by d in each direction; on a connection that never pauses the delay
// can be up to twice that.
func (p *Proxy) Latency(d time.Duration) { p.latency.Store(int64(d)) }

// Requests returns how many requests have matched since the proxy was started, including lost
// ones. Scripts inside requests are not kept: see [Request.SHA].
func (p *Proxy) Requests(match Match) int {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log.full() {
		p.t.Errorf("faultproxy: more than %d requests: the first ones are no longer known", maxLog)
	}
	n := 0
	for _, request := range p.log.requests {
		if match(request) {
			n++
		}
	}
	return n
}
