// Package redlock is one distributed lock over several independent Redis servers. The holder has it on more than half
// of them, so the lock survives the loss of the others.
//
//	client, err := redlock.NewClient([]redis.UniversalClient{a, b, c}, nil) // one per process
//	defer client.Close()
//
//	lock := redlock.New(client, "order:1001")
//	err = lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, order) // may lock order:1001 again with this ctx: it re-enters
//	})
//
// The algorithm is that of the page "Distributed Locks with Redis". The lock is a *[rlock.Lock] with all its
// properties: the context is the hold; re-entry, renewal, a loss that is reported in time, and a queue inside the
// process. On each node it is the hash that package rlock writes, with the same hold id on all of them.
//
// # When to use it
//
// Use it when the loss of a Redis server must not stop the work, and a lock that a failover may lose (package rlock
// behind Sentinel) is not enough. One server with persistence is simpler. If correctness depends on the lock, both need
// the same help: the fencing token.
//
// # Rules
//
//  1. Use three or five servers that fail independently: not replicas of one another, not a cluster, not on one
//     machine. A server that turns out to be a replica, a member of a cluster, or the same server as another node (by
//     its run id) has no vote.
//  2. Set Options.RestartGuard to the longest lease of the deployment, in every process. A server that was restarted
//     less than that time ago has no vote.
//  3. Do not delete keys on a node, flush it, or let it evict keys: nothing guards against that.
//  4. Do not promote a replica behind a node's address. If a proxy keeps connections through a restart of the server,
//     set Options.BehindProxy.
//  5. Give Hold.Fence to the storage that the lock guards, and let it refuse smaller tokens than it has seen.
//
// # What is promised, and what is not
//
// At most one hold is live at any time, provided that nodes keep what they granted for the whole lease (rules 2 to 4),
// and that the clocks of the nodes and the client run at nearly the same rate. The clocks need not agree. A server
// whose clock is set ahead forgets its locks early. That is harmless while only a minority does so. If a majority does,
// the lock is granted too early, and the first holder learns of it with its next renewal.
//
// Fencing tokens grow from hold to hold, even if a node was restarted empty in between, as long as the clocks of the
// nodes differ by less than the guard time and no token key is deleted or evicted.
//
// Not promised:
//   - An order among processes, or a bound on the wait. A release wakes all that wait, and the process that released
//     steps back for a moment. Who of the others asks first gets the lock, and those that split the nodes among them
//     ask again after random times. So processes share a lock: in our tests the one with the most turns had at most
//     four times as many as the one with the fewest.
//   - Protection of a process that is suspended between checking its hold and acting on it. No lock can do that. Held
//     reports ValidUntil as soon as the process runs again, and the fencing token stops its late writes. The program
//     examples/fencing shows that with an SQL database. A pause during Lock uses up validity, and the lock is not
//     granted.
//   - Moving a hold to another process: Export is refused. There is no MinReplicas and no Fsync: a node votes for
//     itself.
//
// # What it costs
//
// A call sends one request to each node at once, and returns as soon as a quorum agreed or none is possible. If many
// goroutines of a process want one lock, it passes from one to the next without a request, each with its own token,
// while more than half of the lease is left and a quorum confirmed the last renewal. Such a run is short, so that other
// processes get the lock too. A node that hangs delays nobody.
//
// A process whose call waits is subscribed to the lock's channel at each node, over a connection of its own, and for a
// second more. The message of any node wakes it. If no node can be heard it asks again every MaxPoll. A process whose
// release others heard of waits for some milliseconds before it asks for the lock again; a lock that nobody else wants
// costs no more for that.
//
// # Why it is safe
//
// Each node decides, in one script, whether it grants; the client counts. The hold is live until the lease, counted
// from before the first request was sent, ends on this process's monotonic clock, minus 1 % for drift and 12 ms for the
// granularity of expiry and a tick. Acquisition, renewal and re-entry are all counted in that way. Any two quorums
// share a node, and that node grants the lock to one holder at a time, until it is released or its lease ends there. So
// two holds are never live at the same time.
//
// Example with a lease of 30 s: the first request is sent at 100.0 s, and the second of three answers arrives at 100.8
// s. The hold is live until 100.0 + 30 - 0.3 - 0.012 = 129.688 s. Every node that granted it keeps it until 130 s at
// least, because it received its request after 100.0 s. The 300 ms cover a clock that runs 1 % faster than another.
//
// An attempt without a quorum is taken back at every node that may have granted it: at once where the grant is known,
// and with the answer where it is not. If no answer comes, the release is repeated until the node says that it has no
// such hold, at a time after which it would refuse the request. Each attempt has its own id, so a late release cannot
// harm the next attempt.
//
// A renewal keeps the hold if a quorum has had it all the time. Only then is the hold also given to other nodes: those
// that were down when it was acquired, and those that forgot it. A hold that no quorum has any more is lost at once. It
// is not restored even if all other nodes are free, because somebody may have held the lock in between.
//
// No key at a node is without an end. A hold whose release does not get there, because the node does not answer or the
// client was closed, goes with its lease; a fencing token is kept for ClientOptions.FenceTTL after its last use, and up
// to a quarter longer. (A negative FenceTTL keeps it for ever.)
//
// # Nodes that do not answer
//
// A call waits for a node for Options.NodeTimeout, a fraction of the lease. A node gets one pipeline at a time, and
// later requests wait for its answer. A node that does not answer in time has no vote, and is sent nothing until it
// answers, or until its connection is given up, after which at most one connection at a time is tried; only the
// requests in the first pipeline over it wait for the node then. A call that has no quorum without that node waits
// once more, but only while the node has been late for less than that time again: it may be slow rather than down.
//
// A balancer may forget a connection and tell neither side. So if a node that has been quick does not answer within
// half of NodeTimeout, its connection is closed, and what was sent is sent once more by a new one; calls that need this
// node wait for it once more. With a NodeTimeout of less than 100 ms this is not done.
//
// When a frozen server thaws it has one pipeline to carry out, not everything that was asked meanwhile. The requests
// in it carry a not-after in the server's own time, and are refused if they are late. A grant that arrives after the
// attempt succeeded makes the node a member.
//
// # Restarts
//
// A server that is restarted without its data may grant a lock that another process holds. Together with two nodes that
// did not take part in that hold, this makes a second quorum. The page asks operators to delay restarts; here the
// client enforces the delay. A restart ends every connection, so on each new connection the client asks the server for
// its uptime. A server that is up for less than the guard time has no vote. After that time, every lease that it forgot
// has ended. An acquisition pays nothing for this.
//
// Three cases escape it. The uptime follows the server's wall clock, which an operator may set ahead. A failover to
// another server behind the same address is not a restart (a replica has no vote, but a promoted one has). And a proxy
// may keep the client's connection through a restart (rule 4).
//
// # Why the fencing tokens grow
//
// The client and the nodes agree on a token in one round, or in two:
//
//	client: asks all nodes for the lock, and proposes T: what the fastest of their clocks shows, and a bit
//	node:   grants if the lock is free. Accepts T, and stores it, if T is above the stored token, not
//	        behind its clock, and at most half the guard time ahead of it. Else says what it would take:
//	        its clock, or if the stored token is not below that, one that is a bit above the stored token.
//	        Either way it says how many numbers right below that one are above what it has stored
//	client: if a quorum granted and accepted, it holds with token T, after one round. If a quorum granted
//	        only, T' is the highest that one of them would take, and is sent to all that granted
//	node:   stores T' if it still has the hold, and only then says so
//	client: holds with token T' when a quorum said so
//
// The hold has more tokens, for the turns of its process that follow: the numbers right below T that are above what
// each node of the granting quorum had stored, 1,023 at most. They are used in order, before T; those left over are
// never used. Example: T is 5000, and the quorum's nodes had stored 4900, 4990 and 4995. The numbers above all three
// are 4996 to 5000, so the first turn has token 4996, and the hold has four more.
//
// Every later request for the hold (a renewal, a re-entry, a grant to another node) carries the token and stores it. A
// node whose grant came late counts only from then on.
//
// Let hold A come before hold B. A quorum stored A's token while it had granted A, and a quorum granted B. Some node is
// in both quorums, and on that node A came before B, because otherwise B would be before A. When that node granted B it
// had A's newest token stored. So it demanded a greater token or accepted a greater one, and none of B's tokens is at
// or below what it had stored. As long as nodes keep what they stored, this is the whole argument, and it involves no
// clock.
//
// Suppose that node was restarted empty in between. It then demanded at least its clock's time, and had no vote for the
// guard time. A token that it accepted was at most half a guard time ahead of its clock, which has passed it since,
// whatever the clocks of other nodes show. (The other tokens of a hold are at most a millisecond below its newest.) A
// token that it confirmed may come from the clock of another node. In that case the clocks of the nodes must differ by
// less than the guard time.
//
// The condition "if it still has the hold" is essential. A client that counted any node that stores the token would
// count a node that had granted B before, with an older token: an exhaustive search then finds a falling token, with
// nothing but one fast clock. For a similar reason a copy of an acquisition is not accepted, even if the stored token
// equals its own: another hold may have stored the same number. The tests contain that search, over this protocol and
// over twelve wrong ones.
package redlock
