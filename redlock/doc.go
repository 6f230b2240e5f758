// Package redlock is one lock over several independent Redis servers: it is held by whoever has it on more
// than half of them, so it survives the loss of the others.
//
//	client, err := redlock.NewClient([]redis.UniversalClient{a, b, c}, nil) // one per process
//	defer client.Close()
//
//	lock := redlock.New(client, "order:1001")
//	err = lock.Do(ctx, func(ctx context.Context) error {
//		return charge(ctx, order) // may lock order:1001 again with this ctx: it re-enters
//	})
//
// The algorithm is that of the page "Distributed Locks with Redis". The lock is an *[rlock.Lock] with all
// that goes with it: the context that is the hold, re-entry, renewal, loss in time, a line inside the
// process. On each node it is the hash that package rlock writes, with the same hold id on all of them.
//
// Where many goroutines of a process want one lock, it passes from one to the next without a request, each with
// a token of its own, while the hold is healthy: more than half of its lease is left, and a quorum confirmed the
// last renewal. Such a run is short, and then other processes have their chance.
//
// # When to use it
//
// When the loss of a Redis server must not stop the work, and a lock that a failover may lose (package
// rlock behind a Sentinel) will not do. It takes three or five servers that fail independently: no
// replicas of one another, no cluster, not one machine. A call sends as many requests as there are nodes,
// and waiters are not woken but try again at random times. One server with persistence is simpler, and
// where correctness hangs on it, what helps is the same for both: the fencing token.
//
// # Who decides
//
// Each node decides, in one script, whether it grants; the client counts. All nodes are asked at once, and a
// call returns as soon as a quorum agreed or none can be had. A hold is believed in from then until the
// lease is over, counted from before the first request was sent, less 1 % and 2 ms for drift, on this
// process's monotonic clock. Acquisition, renewal and re-entry are all counted in that way. Two quorums
// have a node in common, and that node has the lock for one of them only, until it was released or its
// lease was over there. So nobody believes together with another, provided that
//
//   - nodes keep what they granted for as long as they said (see below on restarts; an administrator's
//     DEL, FLUSHALL and eviction are not restarts, and nothing guards against them), and
//   - clocks, those of the nodes and the client's, run at nearly one rate.
//
// The clocks need not agree. A server whose clock is set ahead forgets its locks early; that is as if it had
// lost them, and does no harm as long as it is a minority that does.
//
// An attempt that comes to no quorum is taken back at every node that may have granted it: at once where
// that is known, when its answer comes where it is not, and where no answer comes, by releases that go on
// until the node says, at a time after which it would refuse the request, that it has no such hold. Each
// attempt has an id of its own, so a release that is late cannot harm the next attempt.
//
// # Nodes that do not answer
//
// A node has Options.NodeTimeout, a fraction of the lease. Whatever goes to a node goes in one pipeline at
// a time, and what comes up meanwhile waits for its answer. A node that does not answer in time has no
// vote and is sent nothing until it does (or until its connection is given up, after which at most one
// connection at a time is tried). Only who has no quorum without it waits for it once more, and only while it
// has not been late for as long again: it may be slow, and not away. So a frozen server delays nobody, and when
// it thaws it has one request to carry out, and not what piled up in its socket; that one carries a not-after in
// the server's own time, and is refused if it is late. A grant that comes after the attempt succeeded makes the
// node a member.
//
// A renewal keeps the hold if a quorum has had it all the time. Only then are other nodes given it anew: those
// that were away when it was acquired, and those that forgot it. A hold that no quorum has any more is lost at
// once. It is not brought back, even if all the others are free, for somebody may have had it in between.
//
// # Restarts
//
// A server that is restarted without its data may give away what another holds; with the grants of two
// nodes that did not take part, that is a second quorum. The page asks operators for delayed restarts. Here
// the delay is the client's: a restart ends every connection, so when a connection is made, and on that
// connection, the server is asked for its uptime, and one below the guard time (Options.RestartGuard, the
// longest lease of the deployment) has no vote. When that has passed, whatever it forgot is over. An
// acquisition pays nothing for it. What it does not see: the uptime follows the server's wall clock, which
// an operator may set ahead; a failover to another server behind one address is no restart (a replica has
// no vote, but one that was promoted has); and where a proxy keeps the client's connection through a
// restart, Options.BehindProxy is needed. Servers that turn out to be one and the same (by their run id),
// replicas, and members of clusters have no vote either.
//
// # Fencing tokens
//
// A process can be stopped between looking at its hold and acting on it, for longer than its lease. No lock
// helps against that, and a token does: Hold.Fence grows with every acquisition of a name, and storage that
// refuses smaller ones than it has seen refuses the one who overslept. (The program examples/fencing shows
// it with an SQL database.) Over a quorum it is made like this.
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
// The hold has more tokens than that one, for those of its process to whom the lock is passed on: the numbers
// right below it that are above what each node of the quorum that granted had stored, 1,023 at most. They are used
// in order, before T, and what is left of them is nobody's.
//
// Every later request for the hold, a renewal, a re-entry, the gift to another node, carries the token and
// has it stored; a node whose grant came late counts only from then on.
//
// Why they grow. Let hold A be before hold B. A quorum stored A's token while A stood there, and a quorum
// granted B; some node is in both, and there A came before B, or else they would not be in that order. When
// it granted B it had A's newest token stored, so it asked for a greater one, or accepted a greater one; and none
// of B's tokens is below what it had stored. That is the whole argument while nodes keep what they stored, and no
// clock is in it.
//
// If that node was restarted empty in between, it asked for its clock's time at least, and had no vote for
// the guard time. A token that it accepted was at most half a guard time ahead of its clock, which has
// passed it, whatever the clocks of other nodes show. (Tokens that a hold has besides its newest are at most a
// millisecond below that.) One that was confirmed may come from the clock of
// another node, so there the clocks of the nodes must not differ by the guard time. That, and a token key
// that is evicted or deleted, is where the promise ends.
//
// "If the hold still stands there" is what matters. A client that counted any node that stores the token
// would count one that granted B before, and had told B an older token: an exhaustive search finds a
// falling token then, with nothing but one fast clock. A copy of an acquisition is not accepted for a like
// reason, though the stored token be the one that it brings: another hold may have stored the same number. The
// tests contain that search, over this protocol and over twelve that are wrong.
//
// # The critique, and what is done about it
//
//   - Clock jumps. Validity is counted on monotonic clocks; Redis's expiry is not, so a jump ahead is a lock
//     that is lost on that node. A minority does no harm. A majority whose clocks are set ahead gives the lock
//     to another before its time: the first holder learns of it with its next renewal, and the tokens are in
//     order all the same.
//   - Pauses. One during acquisition uses up validity, and there is no lock. One afterwards cannot be
//     excluded by any lease; Held of the [rlock.Lock] tells ValidUntil as soon as the process runs again, and fencing
//     tokens stop what slips through.
//   - No fencing. See above.
//   - Restarts. See above.
//
// # What is not promised
//
// No order among processes, and no bound on the wait: whoever tries at the right moment gets it, and clients
// that share out the nodes among them try again after random times that grow. No move of a hold to another
// process (Export is refused), and no minimum of replicas: a node votes for itself.
package redlock
