package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Ports are chosen below the range from which the kernel takes the local ports of outgoing connections
// (32768 and up on Linux): such a connection could otherwise occupy a killed server's port when it is restarted.
const (
	firstPort = 10000
	lastPort  = 19999
)

// Port is a port of this machine that one server has, or one proxy, also while that is down: no other one of any test
// process is given it. A client that dials it then is refused, and does not reach another test's server. It holds the
// UDP port of the same number, which no server uses, and so it ends with the process at the latest. A Port that was not
// claimed has nothing but its number.
type Port struct {
	Number int
	udp    net.PacketConn
}

// ClaimPort claims a free port. If above is not 0, the port that is so much higher is free as well.
func ClaimPort(above int) (Port, error) {
	var last error
	for range 100 {
		port, err := claim(firstPort+rand.IntN(lastPort-firstPort+1), above)
		if err == nil {
			return port, nil
		}
		last = err
	}
	return Port{}, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, last)
}

// Listen claims a free port and listens there. A program that claims none may take the port in between: then it claims
// another one.
func Listen() (Port, net.Listener, error) {
	var last error
	for range 10 {
		port, err := ClaimPort(0)
		if err != nil {
			return Port{}, nil, err
		}
		listener, err := port.Listen()
		if err == nil {
			return port, listener, nil
		}
		last = errors.Join(err, port.Release())
	}
	return Port{}, nil, last
}

// Listen listens at the port. It may be called again when the listener is closed: nobody else was given the port. But a
// process that is being started at this moment has the closed listener, too, until it executes its program.
func (p Port) Listen() (net.Listener, error) {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(time.Millisecond) {
		listener, err := net.Listen("tcp", p.Addr())
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return listener, err
		}
	}
}

func claim(number, above int) (Port, error) {
	udp, err := net.ListenPacket("udp", address(number))
	if err != nil {
		return Port{}, err
	}
	err = probe(number)
	if err == nil && above != 0 {
		err = probe(number + above)
	}
	if err != nil {
		return Port{}, errors.Join(err, udp.Close())
	}
	return Port{number, udp}, nil
}

func probe(port int) error {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	return listener.Close()
}

// Addr returns the port's address, host and port.
func (p Port) Addr() string { return address(p.Number) }

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Release ends the claim.
func (p Port) Release() error {
	if p.udp == nil {
		return nil
	}
	return p.udp.Close()
}
