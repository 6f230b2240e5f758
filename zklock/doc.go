// Package zklock is a fair, reentrant distributed lock on ZooKeeper that tells a holder in time when its hold is lost.
//
//	client, err := zklock.NewClient([]string{"zk1:2181", "zk2:2181", "zk3:2181"}, nil) // one per process
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
// Curator's InterProcessMutex, go-zookeeper's Lock and this one contend for the same path, in one queue: that of lock
// "order:1001" is "/holdfast/locks/order:1001" by default ([Options.Root]). So does kazoo's Lock, if it is told of
// others by extra_lock_patterns=["-lock-"]; by default it ignores them, and excludes none of them. Curator's
// InterProcessSemaphoreMutex keeps other nodes, and does not exclude this one; its other recipes are untried.
//
// # What is promised, and what is not
//
// At most one holder treats its hold as live at any time, provided that clocks run at nearly the same rate. What a
// majority of the servers confirmed is not forgotten by the loss of the others, so no failover forgets a lock. A
// holder's context ends before others can have the lock.
//
// Processes have the lock in the order in which they asked. Inside a process waiters queue, first in, first out, and
// the lock passes among them in memory for some milliseconds, before the process goes to the end of the queue. A
// TryLock is busy while anybody waits.
//
// A process that is stopped cannot be told anything. For what it writes there is the fencing token, Hold.Fence, which
// grows with every acquisition. It is 256 times the number of the change that made the holder's node (its czxid), above
// a base, which is stored once, as microseconds of a clock, and read with every grant. So tokens do not fall when a
// program moves here from another store. If the base is old, because the ZooKeeper had locks before, call [Rebase]
// first. After older data were restored, the numbers of changes and the base are those of the data: call Rebase before
// clients start, each time.
//
// When the leader changes, the new one gives every session its full time again, so a lock whose holder has died stays
// taken for up to that much longer. A lease of less than 4 seconds is refused, and a leader that stands still ends
// holds whose lease is shorter than about 16 seconds: the others need half of that to see it.
//
// A holder is told at once that its session was ended, and, once it has held the lock for a second, that an operator
// deleted its node, or broke its lock. Before it hears of that when the second is over.
//
// What this store lacks: leases that differ from that of the Client (a FixedLease may be shorter), Export, MinHold,
// Keep and Yields, the number of levels in Inspect, and the time left in Inspect and List.
//
// # What it costs
//
// A free lock takes one round trip to lock and one to unlock, each of which a majority agrees on. The first lock of a
// name takes one more. A nested Lock takes none. A waiter costs one write and two reads when it comes. Behind the
// holder it has the lock as soon as the Client is told that the holder has left, without a request; behind another
// waiter it reads once when that leaves. Nobody else is woken. A TryLock that finds the lock taken writes twice; while
// it is repeated it only reads.
//
// All holds of a Client hang on one session: a renewal is one new connection, every third of a lease, whatever is held.
// A follower logs a line for each. When a second has passed since a Lock, and behind each renewal, one request has the
// nodes watched of all that is held for that long: nobody waits for it. Where their paths are too many, a Client has
// another session for about each 2,000 holds: what closes a session is one change that names all of its nodes, and
// servers that cannot take one that large do not come back (ZOOKEEPER-4306).
//
// # Why it is safe
//
// Each that wants a lock has a node below the lock's, which ends with its client's session, and whose name ends in a
// number that servers count up. The one with the first number has the lock. The id of the acquisition and the session
// are in the name, so no node of an earlier one is taken for a client's own.
//
// A session is renewed by attaching it to a server by a new connection. The server asks the leader, which gives the
// session its full time; a change that is agreed on over the same connection then shows that the leader still led,
// since servers drop all connections when they change their leader. The next leader begins with the full time. So the
// session lasts from the sending of the handshake on, and validity counts from there. It is tempting to renew it by any
// change that is agreed on, but a follower that passes one on has not told the leader that the client lives: it tells
// that twice in a tick. If it dies before, the session ends by what the leader knew, and another client holds the lock
// while the first one counts from its change.
//
// A request without an answer may have been carried out, or may be yet. After the session was attached anew and a
// change agreed on there, none of an earlier connection is carried out any more, so what the session has then is what
// there is. That is read with each renewal: it says which holds stand, and what became of each such request. A node
// that nobody knows is deleted: one may come through a gap of a few microseconds in the server, if the session is
// attached to the same one again, and by a handshake that was given up.
//
// A session of which nothing was heard for as long as it lasts is given up: holders were told before, by their own
// clock. The client ends it, and goes on under another one.
//
// A waiter watches the node before its own, and its own. A watch only wakes: the read that follows decides. But a
// waiter behind the first has the lock with the deletion of that node, and reads nothing: numbers only grow, so nobody
// can come before it, and a connection tells changes in their order, so its own node stood then. It watches the base of
// tokens, too, since a token counts from the base as it was then or later.
//
// A holder watches its own node, whose deletion ends the hold. Watches end with their connection, so each renewal wakes
// all waiters of the client, and has what is held watched anew: a server tells at once which of these nodes are gone.
//
// Servers count the nodes below a lock's up to 2^31-1, and then give the same number to several. A client that gets
// such a number neither has the lock nor stands in the queue: it deletes the lock's node as soon as nobody stands
// there, with which the count begins anew. Other programs on the path do not know of that: two of them may hold the
// lock then.
//
// # Names
//
// A lock's name is a path below the root: "a/b" is below "a", and both are locks of their own. ZooKeeper refuses some
// names, such as emoji: these are encoded as in URLs ("%F0%9F%94%92"). So are "%", the components "." and "..", and,
// from the second component on, one that ends as a contender's node does, in ten digits.
//
// # Servers
//
// ZooKeeper 3.6 and newer; 3.9.4 or newer is recommended, since older ones may lose changes, and with them locks, when
// servers crash (ZOOKEEPER-4643, ZOOKEEPER-4646, ZOOKEEPER-4925). The first call refuses servers that grant less than
// the lease (maxSessionTimeout, 20 ticks by default), and those that do not restore a session, as ClickHouse Keeper,
// with a [*ServerError]. Name each server by itself, and none twice: a load balancer in between is untried.
//
// A server that does not answer within half of a request's time (a twelfth of the lease, or 1.5 s if that is shorter)
// costs that time once, and no call: the session is attached to the next one.
//
// With ACLs the user needs to create, read, write and delete below [Options.Root] and [Options.Own]. See
// [Options.Auth].
package zklock
