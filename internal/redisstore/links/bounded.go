package links

import (
	"context"
	"net"

	"github.com/holdfast-go/holdfast/internal/deadlines"
	"github.com/holdfast-go/holdfast/internal/redisstore/frames"
)

// bounded makes a dialer bound what comes on its connections, and how long that takes, even if the application's dialer
// makes connections without deadlines. Nothing of go-redis reads below it.
func bounded(d dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return frames.Bound(deadlines.Conn(conn)), nil
	}
}
