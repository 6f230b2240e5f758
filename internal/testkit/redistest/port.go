package redistest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Servers' ports are chosen below the range from which the kernel takes the local ports of outgoing connections
// (32768 and up on Linux): such a connection could otherwise occupy a killed server's port when it is restarted. A
// cluster node also needs its port + busOffset.
const (
	firstPort = 10000
	lastPort  = 19999
	busOffset = 10000
)

// claim keeps a port for one server, also while that is down: no other server of any test process is given it. It
// holds the UDP port of the same number, which no server uses, and so it ends with the process at the latest.
type claim struct{ udp net.PacketConn }

func (c claim) release() error {
	if c.udp == nil {
		return nil
	}
	return c.udp.Close()
}

func freePort(bus bool) (port int, mine claim, err error) {
	var last error
	for range 100 {
		port = firstPort + rand.IntN(lastPort-firstPort+1)
		if mine, last = claimPort(port, bus); last == nil {
			return port, mine, nil
		}
	}
	return 0, claim{}, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, last)
}

func claimPort(port int, bus bool) (claim, error) {
	udp, err := net.ListenPacket("udp", address(port))
	if err != nil {
		return claim{}, err
	}
	err = probe(port)
	if err == nil && bus {
		err = probe(port + busOffset)
	}
	if err != nil {
		return claim{}, errors.Join(err, udp.Close())
	}
	return claim{udp}, nil
}

func probe(port int) error {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
