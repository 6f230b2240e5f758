package pipeline

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
)

// Beside has send carry out an exchange with a node that does not go through the pipe, over a connection that may have
// been forgotten like those of the pipe's exchanges (see node.patience). It reports that nothing was heard of the
// connection and that time is left: if a repetition does no harm, it may be sent once more with ctx. The connections
// that may have been forgotten as well are closed by then.
func (p *Pipe) Beside(ctx context.Context, name string, send func(ctx context.Context) error) (silent bool) {
	n := p.node(name)
	if n == nil { // after Join
		_ = send(ctx)
		return false
	}
	limit := remains(ctx)
	there := n.patience(limit)
	began := time.Now()
	failure := send(links.Sooner(ctx, there))
	n.answered(time.Since(began), failure)
	late, ok := errors.AsType[net.Error](failure)
	timedOut := ok && late.Timeout() && there < limit
	return (timedOut || errors.Is(failure, net.ErrClosed)) && remains(ctx) > 0
}

// remains is how long ctx still lasts. Its end may move while a connection is made.
func remains(ctx context.Context) time.Duration {
	at, _ := ctx.Deadline()
	return time.Until(at)
}
