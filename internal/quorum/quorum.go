// Package quorum is how package redlock reaches one of its independent servers: in production that is Redis; the
// simulation has servers in memory.
package quorum

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Call is one request to a server.
type Call = luacall.Call[luacall.QuorumReply]

// Server makes requests and sends them. See package luacall for what each does.
type Server interface {
	Acquire(a luacall.QuorumAcquireArgs) *Call
	Renew(holds []luacall.QuorumHold, fenceTTL int64) *Call
	Release(a luacall.ReleaseArgs) *Call
	Inspect(lock, token, channel string) *Call

	// Send sends calls that this Server made, all at once, and stores in each its Reply and Err.
	Send(ctx context.Context, calls []*Call)
	Close() error
}

// About is what a server says of itself on a new connection. The texts are those of INFO and ROLE.
type About struct {
	Mode, Role, Run, Uptime string
	Now                     int64 // µs, by its clock
}

// Vet decides whether a new connection is used. Read asks the server, over that connection.
type Vet func(read func() (About, error)) error

// Node takes the place of an application's client for a server that is not Redis. The client that it embeds is nil.
type Node struct {
	redis.UniversalClient
	Addr string
	Link func(vet Vet) Server
}
