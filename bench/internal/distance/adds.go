package distance

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// Added is how much longer a round trip to a server takes through a relay.
type Added struct{ P50, P99 time.Duration }

// Measure asks a server of Redis directly and through the relay, and compares.
func Measure(direct, through string, asks int) (Added, error) {
	var ways [2]func() error
	for i, addr := range []string{direct, through} {
		c, err := net.DialTimeout("tcp4", addr, 5*time.Second)
		if err != nil {
			return Added{}, err
		}
		defer func() { _ = c.Close() }()
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return Added{}, err
		}
		ways[i] = func() error { return ask(c) }
	}
	return Compare(ways[0], ways[1], asks)
}

// Compare asks a server directly and through the relay, in turns. A client that waits between its requests, as this one
// does, has its threads woken at either end; so has the relay.
func Compare(direct, through func() error, asks int) (Added, error) {
	var took [2][]time.Duration
	for range asks {
		for i, ask := range []func() error{direct, through} {
			start := time.Now()
			if err := ask(); err != nil {
				return Added{}, fmt.Errorf("distance: a question: %w", err)
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	slices.Sort(took[0])
	slices.Sort(took[1])
	base := took[0][asks/2]
	return Added{P50: took[1][asks/2] - base, P99: took[1][asks*99/100] - base}, nil
}

func ask(c net.Conn) error {
	const request, reply = "PING\r\n", "+PONG\r\n"
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	var got [len(reply)]byte
	if _, err := io.ReadFull(c, got[:]); err != nil {
		return err
	}
	if string(got[:]) != reply {
		return errors.New("an answer that is none")
	}
	return nil
}
