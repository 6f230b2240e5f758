package redistest

import (
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

func freePort(bus bool) (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if last = probe(port); last != nil {
			continue
		}
		if bus {
			if last = probe(port + busOffset); last != nil {
				continue
			}
		}
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, last)
}

func probe(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return listener.Close()
}
