// Package redlock is one lock over several independent Redis servers. The holder has it on more than half of them, so
// the lock survives the loss of the others.
//
//	client, err := redlock.NewClient([]redis.UniversalClient{a, b, c}, nil) // one per process
//	defer client.Close()
//
//	lock := redlock.New(client, "order:1001")
//	err = lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, order) // may lock order:1001 again with this ctx: it re-enters
//	})
//
// The algorithm is that of the page "Distributed Locks with Redis". The lock is an *[rlock.Lock] with all its
// properties: the context is the hold; re-entry, renewal, a loss that is reported in time, and a queue inside the
// process. On each node it is the hash that package rlock writes, with the same hold id on all of them.
//
// Where many goroutines of a process want one lock, it passes from one to the next without a request, each with its
// own token, while the hold is healthy: more than half of its lease is left, and a quorum confirmed the last renewal.
// Such a run is short, so that other processes get the lock too.
//
// # When to use it
//
// Use it when the loss of a Redis server must not stop the work, and a lock that a failover may lose (package rlock
// behind Sentinel) is not enough. It takes three or five servers that fail independently: not replicas of one
// another, not a cluster, not on one machine. A call sends one request per node, and waiters are not woken but retry
// at random times. One server with persistence is simpler. Where correctness depends on the lock, both need the same
// help: the fencing token.
//
// # Who decides
//
// Each node decides, in one script, whether it grants; the client counts. It asks all nodes at once, and a call
// returns as soon as a quorum agreed or none is possible. The hold is then live until the lease, counted from before
// the first request was sent, ends on this process's monotonic clock, less 1 % and 2 ms for drift. Acquisition,
// renewal and re-entry are all counted in that way. Any two quorums share a node, and that node grants the lock to
// only one holder at a time, until it is released or its lease ends there. So no two holders are live at the same
// time, provided that
//
//   - nodes keep what they granted for the whole lease (restarts: see below; an administrator's
//     DEL, FLUSHALL and eviction are not restarts, and nothing guards against them), and
//   - the clocks of the nodes and the client run at nearly the same rate.
//
// The clocks need not agree. A server whose clock is set ahead forgets its locks early. That is as if it had lost
// them, and harmless while only a minority does so.
//
// An attempt without a quorum is taken back at every node that may have granted it: at once where the grant is known,
// when the answer comes where it is not, and, if no answer comes, by releases that are repeated until the node says,
// at a time after which it would refuse the request, that it has no such hold. Each attempt has its own id, so a late
// release cannot harm the next attempt.
//
// # Nodes that do not answer
//
// A call waits for a node for Options.NodeTimeout, a fraction of the lease. A node gets one pipeline at a time, and
// later requests wait for its answer. A node that does not answer in time has no vote, and is sent nothing until it
// answers (or until its connection is given up, after which at most one connection at a time is tried). Only a call
// that has no quorum without it waits once more, and only while the node has been late for less than that time again:
// it may be slow rather than down. So a frozen server delays nobody. When it thaws it has one pipeline to carry out,
// not everything that was asked meanwhile; that pipeline's requests carry a not-after in the server's own time, and
// are refused if they are late. A grant that arrives after the attempt succeeded makes the node a member.
//
// A renewal keeps the hold if a quorum has had it all the time. Only then is the hold also given to other nodes:
// those that were down when it was acquired, and those that forgot it. A hold that no quorum has any more is lost at
// once. It is not restored even if all other nodes are free, because somebody may have held the lock in between.
//
// # Restarts
//
// A server that is restarted without its data may grant a lock that another process holds; together with two nodes
// that did not take part in that hold, this makes a second quorum. The page asks operators for delayed restarts. Here
// the client enforces the delay. A restart ends every connection, so when a connection is made, the client asks the
// server, on that connection, for its uptime. A server that is up for less than the guard time (Options.RestartGuard,
// the longest lease of the deployment) has no vote. After that time, every lease that it forgot has ended. An
// acquisition pays nothing for this. Three cases escape it. The uptime follows the server's wall clock, which an
// operator may set ahead. A failover to another server behind the same address is no restart (a replica has no vote,
// but a promoted one has). If a proxy keeps the client's connection through a restart, Options.BehindProxy is needed.
// Servers that turn out to be the same one (by their run id), replicas, and members of clusters have no vote either.
//
// # Fencing tokens
//
// A process can be stopped for longer than its lease between checking its hold and acting on it. No lock prevents
// that, but a token makes it harmless: Hold.Fence grows with every acquisition of a name, and storage that refuses
// smaller tokens than it has seen refuses the stopped process. (The program examples/fencing shows this with an SQL
// database.) Over a quorum the token is made as follows.
//
//	client: asks all nodes for the lock, and proposes T: what the fastest of their clocks shows, and a bit
//	node:   grants if the lock is free. Accepts T, and stores it, if T is above the stored token, not
//	        behind its clock, and at most half the guard time ahead of it. Else says what it would take:
//	        its clock, or if the stored token is not below that, one that is a bit above the stored token.
//	        Either way it says how many numbers right below that one are above what it has stored
//	client: if a quorum granted and accepted, it holds with token T, after one round. If a quorum granted
//	        only, T' is the highest that one of them would take, and is sent to all that granted
//	node:   stores T' if the hold still stands there, and only then says so
//	client: holds with token T' when a quorum said so
//
// The hold has more tokens than that one, for the turns of its process that follow: the numbers right below T that
// are above what each node of the granting quorum had stored, 1,023 at most. They are used in order, before T; those
// left over are never used.
//
// Every later request for the hold (a renewal, a re-entry, a grant to another node) carries the token and stores it.
// A node whose grant came late counts only from then on.
//
// Why the tokens grow: let hold A come before hold B. A quorum stored A's token while A stood there, and a quorum
// granted B. Some node is in both quorums, and there A came before B, because otherwise B would be before A. When
// that node granted B it had A's newest token stored. So it asked for a greater one or accepted a greater one, and
// none of B's tokens is at or below what it had stored. While nodes keep what they stored, this is the whole
// argument, and it involves no clock.
//
// If that node was restarted empty in between, it asked for at least its clock's time, and had no vote for the guard
// time. A token that it accepted was at most half a guard time ahead of its clock, which has passed it since,
// whatever the clocks of other nodes show. (The other tokens of a hold are at most a millisecond below its newest.) A
// token that it confirmed may come from the clock of another node, so in that case the clocks of the nodes must
// differ by less than the guard time. The promise ends there, and where a token key is evicted or deleted.
//
// The condition "if the hold still stands there" is essential. A client that counted any node that stores the token
// would count a node that had granted B before, with an older token: an exhaustive search then finds a falling token,
// with nothing but one fast clock. For a similar reason a copy of an acquisition is not accepted, even if the stored
// token equals its own: another hold may have stored the same number. The tests contain that search, over this
// protocol and over twelve wrong ones.
//
// # The critique, and what is done about it
//
//   - Clock jumps. Validity is counted on monotonic clocks. Redis's expiry is not, so after a jump ahead that node
//     loses the lock. A minority does no harm. A majority whose clocks are set ahead grants the lock
//     too early: the first holder learns of it with its next renewal, and the tokens are still
//     in order.
//   - Pauses. A pause during acquisition uses up validity, and the lock is not granted. No lease can exclude a later
//     pause; Held of the [rlock.Lock] reports ValidUntil as soon as the process runs again, and fencing
//     tokens stop late writes.
//   - No fencing. See above.
//   - Restarts. See above.
//
// # What is not promised
//
// There is no order among processes, and no bound on the wait: whichever client tries at the right moment gets the
// lock, and clients that split the nodes among them retry after random times that grow. A hold cannot move to another
// process (Export is refused). There is no minimum of replicas: a node votes for itself.
package redlock
