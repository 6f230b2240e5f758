package redistest

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
)

// Meter counts what is sent on connections that its Dial opened. The zero Meter is ready to use.
type Meter struct {
	bytes   atomic.Int64
	dials   atomic.Int64
	writes  atomic.Int64
	scripts atomic.Int64
}

// Dial is a dialer for go-redis's options. Derived clients dial with the application's dialer, so they are
// counted too.
func (m *Meter) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	m.dials.Add(1)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return metered{conn, m}, nil
}

// Sent is zero while nothing was sent or dialled, and grows with everything that is.
func (m *Meter) Sent() int64 { return m.dials.Load() + m.bytes.Load() }

// Dials counts the connections that were asked for, made or not.
func (m *Meter) Dials() int64 { return m.dials.Load() }

// Writes counts the writes, of one command or of many.
func (m *Meter) Writes() int64 { return m.writes.Load() }

// Scripts counts the writes that contain scripts: clients of clusters and Sentinels send other commands of their own
// accord.
func (m *Meter) Scripts() int64 { return m.scripts.Load() }

type metered struct {
	net.Conn
	meter *Meter
}

func (c metered) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("eval")) {
		c.meter.scripts.Add(1)
	}
	n, err := c.Conn.Write(b)
	c.meter.bytes.Add(int64(n))
	c.meter.writes.Add(1)
	return n, err
}
