// Package wire counts at the client what goes over its connections.
package wire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Meter counts for one contender. The zero value is ready.
type Meter struct {
	sends atomic.Int64
	bytes atomic.Int64
	dials atomic.Int64
}

// Reading is what a Meter has counted.
type Reading struct {
	Sends int64 // writes to a socket: alone, an operation makes one for each round trip
	Bytes int64 // written
	Dials int64 // connections made
}

// Read returns the counts so far.
func (m *Meter) Read() Reading {
	return Reading{Sends: m.sends.Load(), Bytes: m.bytes.Load(), Dials: m.dials.Load()}
}

// Since is what was counted since an earlier reading.
func (r Reading) Since(before Reading) Reading {
	return Reading{r.Sends - before.Sends, r.Bytes - before.Bytes, r.Dials - before.Dials}
}

// Dial is the dialer of a go-redis client.
func (m *Meter) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return m.dial(ctx, &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 5 * time.Minute}, network, addr)
}

// DialRueidis is the dialer of a rueidis client.
func (m *Meter) DialRueidis(
	ctx context.Context, addr string, dialer *net.Dialer, _ *tls.Config,
) (net.Conn, error) {
	return m.dial(ctx, dialer, "tcp", addr)
}

func (m *Meter) dial(ctx context.Context, d *net.Dialer, network, addr string) (net.Conn, error) {
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	m.dials.Add(1)
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("a connection of kind %T", c)
	}
	return &conn{TCPConn: tcp, meter: m}, nil
}

// conn is a connection that counts. It embeds the kernel's own kind, because go-redis looks for that to
// see whether a connection is still alive: so a meter takes nothing away from the work to be measured.
type conn struct {
	*net.TCPConn
	meter *Meter
}

func (c *conn) Write(p []byte) (int, error) {
	c.meter.sends.Add(1)
	n, err := c.TCPConn.Write(p)
	c.meter.bytes.Add(int64(n))
	return n, err
}
