package rlock

import (
	"log/slog"
	"time"
)

// ClientOptions adjust a Client. The zero value of every field means its default.
type ClientOptions struct {
	// Lease is how long Redis keeps a hold without a renewal, and so how long others wait after a
	// holder died. Every third of it the hold is renewed. Zero means 30 s; 100 ms is the least.
	Lease time.Duration

	// MaxPoll is how long a waiter relies on Redis's messages before it looks for itself: with every
	// message lost it still gets in this long after a release. Zero means 1 s.
	MaxPoll time.Duration

	// ReleaseTimeout bounds unlock, and Close, when Redis does not answer. Zero means 5 s.
	ReleaseTimeout time.Duration

	// MinReplicas is how many replicas must confirm an acquisition, and every renewal, by WAIT. If
	// they do not, the lock is taken back and the error, an ErrUnavailable, says so. It makes the loss
	// of a lock in a failover less likely, not impossible. A turn that passes from one caller of this
	// client to the next, and a nested Lock that needs no longer lease, ask nothing of Redis, and so of
	// no replica: they stand and fall with what was confirmed. Zero sends no WAIT. The server's own setting
	// min-replicas-to-write counts for locks from Redis 7 on: Redis 6.2 does not heed it inside scripts.
	MinReplicas int

	// KeyName makes a Redis key of a lock's name. Nil means the name itself. Every process that is to
	// contend, Redisson's included, has to use the same.
	KeyName func(name string) string

	// FenceTTL is how long the key of a fencing token survives disuse at least; time then has passed the
	// tokens by, so that later ones are greater all the same. It is a quarter of FenceTTL more at most:
	// the expiry is written once a quarter, and not with every token, since that would cost an
	// acquisition one more call in Redis. Zero means a week, which Redis so shows as 7 to 8.75 days. A
	// negative value means for ever, which names need that Java locks as RFencedLock: Java only increments,
	// and would start again at 1.
	FenceTTL time.Duration

	// Observer is told what happens. Nil costs nothing.
	Observer *Observer

	// Logger gets what an operator should know of: losses, failing renewals, waiters that wait for
	// their own client. Nil means slog.Default().
	Logger *slog.Logger
}
