package simredis

import (
	"context"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// FarOptions returns options for a distant client: dialling takes a round trip, and so does every exchange. Pieces
// that are under way at the same time do not delay one another.
func (s *Server) FarOptions(roundTrip time.Duration) *redis.Options {
	opts := s.Options()
	opts.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := s.admit(ctx); err != nil {
			return nil, err
		}
		timer := time.NewTimer(roundTrip)
		defer timer.Stop()
		select {
		case <-timer.C:
			return s.dialFar(roundTrip / 2)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return opts
}

func (s *Server) dialFar(oneWay time.Duration) (net.Conn, error) {
	near, err := s.Dial()
	if err != nil {
		return nil, err
	}
	client, far := net.Pipe()
	s.carry(far, near, oneWay)
	s.carry(near, far, oneWay)
	return &socket{Conn: client}, nil
}

// piece is what one read returned, and when it arrives.
type piece struct {
	at    time.Time
	bytes []byte
}

// carry copies everything from one end to the other, after delay.
func (s *Server) carry(from, to net.Conn, delay time.Duration) {
	way := newQueue[piece]()
	s.running.Go(func() {
		defer way.close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				way.push(piece{time.Now().Add(delay), append([]byte(nil), buffer[:n]...)})
			}
			if err != nil {
				return
			}
		}
	})
	s.running.Go(func() {
		defer func() { _ = to.Close() }()
		for {
			p, ok := way.pop()
			if !ok {
				return
			}
			time.Sleep(time.Until(p.at))
			if _, err := to.Write(p.bytes); err != nil {
				_ = from.Close()
				return
			}
		}
	})
}
