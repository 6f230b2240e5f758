package faultproxy

import (
	"io"
	"time"
)

// forward sends a request to Redis and passes its answers to reply.
func (c *conn) forward(request Request, raw []byte, reply func([]byte)) {
	c.mu.Lock()
	if c.deaf {
		c.mu.Unlock()
		return
	}
	c.replies.expect(request, reply)
	c.mu.Unlock()
	c.send(raw)
}

// send writes to Redis. It ignores errors: Redis has gone, which passReplies notices too.
func (c *conn) send(raw []byte) { _ = c.pour(c.server, raw) }

// deliver writes to the client, unless the client must receive nothing more.
func (c *conn) deliver(raw []byte) { c.write(raw) }

// write is deliver, and reports whether the client takes more.
func (c *conn) write(raw []byte) (more bool) {
	c.mu.Lock()
	silent := c.silent
	c.mu.Unlock()
	if silent {
		return false
	}
	if err := c.pour(c.client, raw); err != nil {
		c.mute() // it has hung up; its requests are executed all the same
		return false
	}
	return true
}

// pour writes all at once, or drop by drop.
func (c *conn) pour(to io.Writer, raw []byte) error {
	const drop, pause = 3, 200 * time.Microsecond
	for c.proxy.dribble.Load() && len(raw) > drop {
		if _, err := to.Write(raw[:drop]); err != nil {
			return err
		}
		raw = raw[drop:]
		time.Sleep(pause)
	}
	_, err := to.Write(raw)
	return err
}

func (c *conn) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
}

func (c *conn) deafen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = true
}

func (c *conn) isDeaf() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf
}

// afterPending calls f when all forwarded requests have been answered.
func (c *conn) afterPending(f func()) {
	c.mu.Lock()
	now := c.replies.whenIdle(f)
	c.mu.Unlock()
	if now {
		f()
	}
}

// cut hangs up on the client. Redis sees the end of the connection after all forwarded requests,
// so those are executed.
func (c *conn) cut() {
	c.deafen()
	c.mute()
	_ = c.client.Close()
	_ = c.server.CloseWrite()
}

// clientGone forwards the end of the client's connection, unless it is lost with everything
// else.
func (c *conn) clientGone() {
	c.mu.Lock()
	holed := c.holed
	c.mu.Unlock()
	if !holed {
		_ = c.server.CloseWrite()
	}
}

// close ends the connection in both directions.
func (c *conn) close() {
	c.closing.Do(func() { close(c.closed) })
	_ = c.client.Close()
	_ = c.server.Close()
}

// blackhole loses everything from now on, in both directions.
func (c *conn) blackhole() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf, c.silent, c.holed = true, true, true
}

func (c *conn) isBlackholed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holed
}

func (c *conn) isSubscriber() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies.listening() || c.replies.subscribing()
}

// await waits until the gate opens. It returns false if the connection was closed before.
func (c *conn) await(gate *Gate) bool {
	select {
	case <-gate.opened:
		return true
	case <-c.closed:
		return false
	}
}

func (c *conn) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closed:
		return false
	}
}

// pace delays what arrived at a time by the proxy's latency.
func (c *conn) pace(arrived time.Time) bool {
	d := time.Duration(c.proxy.latency.Load())
	if d <= 0 {
		return true
	}
	return c.sleep(time.Until(arrived.Add(d)))
}
