// Package etcdlock is a fair, reentrant distributed lock on etcd that tells a holder in time when its hold is lost.
//
//	client, err := etcdlock.NewClient(etcd, nil) // one per process; etcd is a *clientv3.Client
//	defer client.Close()
//
//	l := client.Lock("order:1001")
//	err = l.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, order) // may lock order:1001 again with this ctx: it re-enters
//	})
//
// A lock is the *lock.Lock that package rlock has on Redis, with its rules: see packages lock and rlock. It works with
// packages multilock and leader too. A [Client] is a [lock.Provider], so a program can choose its store by
// configuration.
//
// etcd's own locks (etcdctl lock, package concurrency) and this one contend for the same name, in one queue.
//
// # What is promised, and what is not
//
// At most one holder treats its hold as live at any time, provided that clocks run at nearly the same rate. What a
// majority of the servers confirmed is not forgotten by the loss of the others, so no failover forgets a lock. A
// holder's context ends before others can have the lock: its validity counts from the sending of the last keep-alive
// that etcd answered. (The Session of package concurrency counts from the answer, and looks once a second.)
//
// Processes have the lock in the order in which they asked. Inside a process waiters queue, first in, first out, and
// the lock passes among them in memory for some milliseconds, before the process goes to the end of the queue. A
// TryLock is busy while anybody waits.
//
// A process that is stopped cannot be told anything. For that there is the fencing token, Hold.Fence, which grows
// with every acquisition. It is revision times 1,024 above a base, which is stored once, as microseconds of a clock,
// and read with every grant. So tokens do not fall when a program moves here from package rlock or pglock. If the
// base is old, because the etcd had locks before, call [Rebase] first. After a snapshot was restored, revisions begin
// again: restore with etcdutl's --bump-revision and --mark-compacted, or call Rebase before clients start.
//
// When the leader of etcd changes, the new one gives every lease its full time again, so a lock whose holder has died
// stays taken for up to that much longer. A lease of less than 5 seconds would be lost in an election, and is refused.
//
// What this store lacks: leases that differ from that of the Client (a FixedLease may be shorter), Export, MinHold,
// Keep and Yields, the number of levels in Inspect, and the time left in List.
//
// # What it costs
//
// A free lock takes one round trip to lock and one to unlock, each of which a majority agrees on. A nested Lock takes
// none. All holds of a Client hang on one lease: a renewal is one keep-alive, and a look at the keys, 128 by one
// request, every third of a lease. A waiter costs one write and one read when it comes, and one read when the one
// before it leaves.
//
// # Why it is safe
//
// Each that wants a lock has a key below its name, which hangs on its client's lease, and the one whose key was made
// first (by its create revision) has the lock. A transaction makes the key, unless it is there or its id is sealed, and
// reads who is first. A caller that is not first reads which key is before its own; without an answer it has its place
// all the same, and reads again. To poll is to read. A try makes its key only if there is none.
//
// A client uses few keys of a name, again and again: etcd keeps the names of deleted keys until it compacts, and
// would read past them. The value of a key is the id of the acquisition. A release, a renewal and a note compare it,
// so a late one finds another id and does nothing. While a copy of a request for an id may come, no other id
// has its key.
//
// A transaction of etcd has no clock, so a copy of a request cannot be told to be too late. It is told otherwise: an id
// that was given up while a request for it was unanswered is sealed by the same transaction that deletes its key; the
// seal is a key that hangs on the client's lease. A copy that comes before has its key deleted; one that comes after
// finds the seal; and one that comes when the lease is over is refused, because it would write under a lease that is no
// more. For the same reason a lease that is over is never renewed or used again: the client goes on under another. It
// does so too when nothing has confirmed its lease for that long, after it has revoked that: a leader may have ordered
// the end of the lease, and another one, which answers keep-alives, receive the order later.
//
// A waiter watches the key before its own, from the revision at which it saw it, so no release is missed; and its own,
// which goes when the client's lease does, or when an operator deletes it. A watch only wakes: the read that follows
// decides.
//
// Names are key prefixes: the keys of lock "a" begin with "a/", as etcd's own locks have it. So lock "a/b" would look
// like one of those. A lock that finds such a key before its own fails with lock.ErrKeyConflict, as it does with a key
// that has no lease. Use names of which none is a folder of another.
//
// # Servers
//
// etcd 3.5.23, 3.6.5 and newer. In older ones a leader that was deposed may renew leases that are over, and end others
// that are not (etcd issues 15247 and 20590): the first call is refused with a [*VersionError]. With authentication,
// the user needs to read and write below the names, and below [Options.Prefix].
//
// In all versions a leader that stood still for longer than a lease, as a process that is stopped or a machine that is
// suspended, may end leases that the next leader has renewed, at the moment at which it goes on: it skips the check
// that it still leads (etcd pull request 18428). Holders are told with their next renewal, within half of the lease.
// Only storage that checks tokens is safe from that. Use a lease that is longer than such pauses.
//
// The client's library asks the servers of its Endpoints in turn. One that stands still, and whose connections stay
// open, is asked in its turn as well, and costs every request that meets it a sixth of the lease, or 3 s if that is
// shorter: set DialKeepAliveTime (to 10 s, the least that the library takes) and DialKeepAliveTimeout of
// clientv3.Config, so that it is noticed. One that is cut off from the others says so at once.
//
// The Endpoints must be the servers' own. Etcd's grpc-proxy renews leases itself, and answers a keep-alive with what it
// heard from the server last, or with the rest of the lease. Validity would count from a request that did not renew
// anything. The rest of a lease is refused as proof; an answer to an earlier renewal cannot be told from another.
package etcdlock
