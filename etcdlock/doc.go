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
// A process that is stopped cannot be told anything. For what it writes to the same etcd there is [Guard], a
// condition under which a transaction is carried out only while the hold stands. For all else there is the fencing
// token, Hold.Fence, which grows with every acquisition. It is revision times 1,024 above a base, which is stored
// once, as microseconds of a clock, and read with every grant. So tokens do not fall when a program moves here from
// package rlock or pglock. If the base is old, because the etcd had locks before, call [Rebase] first. After a
// snapshot was restored, revisions and the base are those of the snapshot: call Rebase before clients start, each
// time.
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
// none. All holds of a Client hang on one lease: a renewal is one keep-alive, every third of a lease. If anything was
// written to etcd since the last renewal, the Client looks at the keys as well, 128 by one request. A waiter costs one
// write and one read when it comes, and one read when the one before it leaves.
//
// A Client has two streams open: one for keep-alives, from the first renewal, and one for watches, from the first
// wait, or when something has been held for a second. Both stay until Close. With passwords that matters, because the
// client's library logs in for each stream that it opens, and etcd compares a password by bcrypt, which is slow on
// purpose: it is compared three times for a Client that starts, and again when a connection breaks or a token of the
// server's ends. A user that is the common name of a client's certificate has no password to compare.
//
// # Why it is safe
//
// Each that wants a lock has a key below its name, which hangs on its client's lease, and the one whose key was made
// first (by its create revision) has the lock. A transaction makes the key, unless it is there or the client's seal was
// written since it was sent, and reads who is first. A caller that is not first reads which key is before its own;
// without an answer it has its place all the same, and reads again. To poll is to read. A try makes its key only if
// there is none.
//
// A client uses few keys of a name, again and again: etcd keeps the names of deleted keys until it compacts, and
// would read past them. The value of a key is the id of the acquisition. A release, a renewal and a note compare it,
// so a late one finds another id and does nothing. While a copy of a request for an id may come, no other id
// has its key.
//
// A transaction of etcd has no clock, so time cannot tell that a copy of a request is too late. Revisions do: each
// acquisition names the latest revision that its client had seen when it was sent. When an id is given up for which a
// request was not answered, the transaction that deletes its key writes the client's seal as well, one key that hangs
// on the client's lease. An acquisition is refused if the seal has a later revision than it names. So the key of a copy
// that comes before is deleted, a copy that comes after finds the seal, and a copy that comes when the lease is over is
// refused, because it would write under a lease that is no more. An acquisition that was on its way for another id, and
// is refused for the seal, is sent again. For the same reason a lease that is over is never renewed or used again:
// the client goes on under another. It does so too when nothing has confirmed its lease for that long, after it has
// revoked that: a leader may have ordered the end of the lease, and another one, which answers keep-alives, receive the
// order later.
//
// A request that is sent twice may be carried out twice. An acquisition then finds its own id in its key, and a release
// that finds nothing counts as done; the release of what a second request was sent for writes the seal.
//
// A waiter watches the key before its own, from the revision at which it saw it, so no release is missed; and its own,
// which goes when the client's lease does, or when an operator deletes it. A watch only wakes: the read that follows
// decides.
//
// The key of what has been held for a second is watched, too. When it is deleted, by an operator, by Break or with the
// lease, the hold ends at once. A Client that finds its lease gone ends all that it held under it before it goes on
// under another one. A watch may be late, so neither is what is relied on: the renewal says whether a key stands. If
// the answer to the keep-alive names the revision at which the Client last saw the key, nothing was written since, and
// the key stands. Otherwise the Client looks. It looks as well after it has opened a stream, whose server may go on
// from a snapshot, and when a server names a revision below the latest that the Client has seen.
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
// A request that has no answer after half of its time (a twelfth of the lease, or 1.5 s if that is shorter) is sent
// once more, by a connection that the Client makes as the application's clientv3.Client makes its own, with all that
// was configured there, to the server that answers first. So a connection that a balancer has forgotten, and a server
// that stands still, cost that time once, and no call. The Client uses its own connection until that breaks or is
// silent in its turn. A server that is cut off from the others says so at once.
//
// This does not help the application's other requests: for those set DialKeepAliveTime (to 10 s, the least that the
// library takes) and DialKeepAliveTimeout of clientv3.Config, so that its connections are noticed to be silent. Nor
// does it help where the application has replaced its client's KV, as package namespace advises: such requests are sent
// once.
//
// The Endpoints must be the servers' own. Etcd's grpc-proxy renews leases itself, and answers a keep-alive with what it
// heard from the server last, or with the rest of the lease. Validity would count from a request that did not renew
// anything. The rest of a lease is refused as proof; an answer to an earlier renewal cannot be told from another.
package etcdlock
