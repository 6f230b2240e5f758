package faultproxy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// Listeners' ports are chosen just below the range from which the kernel takes the ports of outgoing connections, so
// that no such connection occupies the port while new connections are refused.
const (
	firstPort = 30000
	lastPort  = 32767
)

func listenSomewhere() (net.Listener, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, last)
}

// accept serves a listener until the listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = listener.Close()
		return
	}
	p.listener = listener
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client, listener) })
		}
	})
}

// relisten opens the proxy's port again.
func (p *Proxy) relisten() (net.Listener, error) {
	var errs []error
	for range 50 {
		listener, err := net.Listen("tcp", p.addr)
		if err == nil {
			return listener, nil
		}
		errs = append(errs, err)
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errors.Join(errs...)
}
