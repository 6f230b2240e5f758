package rlock

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// ClientOptions adjusts a Client. The zero value of every field means its default.
type ClientOptions struct {
	// Lease is how long Redis keeps a hold without a renewal, and so how long others wait after a holder died. A hold
	// is renewed every third of it. Zero means 30 s; the minimum is 100 ms.
	Lease time.Duration

	// MaxPoll is how long a waiter relies on Redis's messages before it asks again: even if every message is lost, it
	// asks this long after a release. While it hears nothing, and sees that the lock was taken anew since it asked, it
	// asks more often, each 10 ms at most. Zero means 1 s.
	MaxPoll time.Duration

	// MaxWait limits how long Lock waits, as the option of that name does, for every handle of the Client without that
	// option: locks of all kinds, permits, and sets of locks. A Lock that has waited for this long returns ErrBusy. It
	// does not limit the waiting for a latch. Zero means no limit.
	MaxWait time.Duration

	// ReleaseTimeout bounds unlock and Close when Redis does not answer. Zero means 5 s.
	ReleaseTimeout time.Duration

	// MinReplicas is how many replicas must confirm an acquisition, and every renewal, by WAIT. If too few do, the lock
	// is taken back and the error, an ErrUnavailable, says so. Passing the lock to another caller of this client, and a
	// nested Lock, ask nothing of Redis, and so of no replica: they rely on what was confirmed before. Zero sends no
	// WAIT. The server's own setting min-replicas-to-write covers locks from Redis 7 on: Redis 6.2 ignores it inside
	// scripts.
	//
	// Set it to the number of replicas that may be promoted. A lower number makes the loss of a lock in a failover less
	// likely, not impossible: a replica that is not promoted may be the one that confirmed. The price is that no lock
	// can be taken while one of these replicas is away, as after each failover until the old primary is a replica
	// again (about 11 s behind Sentinels), and that holds whose lease is not well above that time are lost.
	MinReplicas int

	// Fsync makes each acquisition, and every renewal, wait until it is on disk: in the append-only file of the
	// primary, and in those of MinReplicas replicas; with MinReplicas 0 the primary's is enough. WAITAOF is sent for
	// that, in place of WAIT. So a crash of all these machines, after which Redis starts again from its files, forgets
	// no lock that a caller was given. If a disk does not confirm in time, the lock is taken back and the error, an
	// ErrUnavailable, says so, as with MinReplicas; what asks nothing of Redis waits for no disk.
	//
	// It needs Redis 7.2 or newer, or Valkey, and appendonly yes on each of these servers. On others every acquisition
	// fails, with an ErrUnavailable that says what the server lacks, and operate.Check tells it before.
	//
	// The price is the time that the disks need: milliseconds with appendfsync always. With everysec it is up to a
	// second, and with replicas up to two, of the sixth of Lease, and at most 3 s, that a request has: so leases must
	// be 18 s or longer. With appendfsync no nothing is ever confirmed.
	Fsync bool

	// MaxKept is how many locks that nobody holds the client keeps at most; see Keep. Of more, the one that was unused
	// for the longest time is released. Zero means 1,024.
	MaxKept int

	// Prefix stands before a lock's name in its Redis key. Empty means that the name is the key. All processes that
	// contend use the same one: the command line has it as --prefix, and Redisson as the NameMapper that puts it there.
	// operate.List and operate.Leaks tell only what has it, by the name without it. At most 1,023 bytes.
	Prefix string

	// FenceTTL is the minimum time for which an unused fencing token's key is kept. When the key is gone, new tokens
	// are still greater, because time has passed the old ones by. The key may live a quarter of FenceTTL longer: the
	// expiry is written only once per quarter, because writing it with every token would cost an acquisition one more
	// call in Redis. Zero means a week, so that Redis shows 7 to 8.75 days. A negative value means no expiry, which
	// names need that Java locks as RFencedLock: Java only increments, and would start again at 1.
	FenceTTL time.Duration

	// Observer receives events, for metrics and traces. Nil costs nothing.
	Observer *Observer

	// Logger receives what an operator should know: losses; when Redis begins not to answer, or to refuse renewals, and
	// when that ends, once each and not for each call; waiters that wait for their own client. While Redis answers and
	// nothing is lost it receives nothing. Every line begins with "holdfast: ". Nil means slog.Default().
	Logger *slog.Logger

	// Owner is what others are told of this client, next to its holds, by Inspect, List and the command line, such as
	// what [ThisProcess] returns. It is kept in a key of its own, holdfast_owner:<client's id>, which lives as long as
	// the client's renewed holds and is written at most six times a lease, whatever the number of locks. A client with
	// an Owner also asks for those of others, at the cost of a second round trip of Inspect. Empty means that neither
	// is done.
	Owner string
}

// ThisProcess is an Owner: host, process id and program.
func ThisProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s pid %d %s", host, os.Getpid(), filepath.Base(os.Args[0]))
}
