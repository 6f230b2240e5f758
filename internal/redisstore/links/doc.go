// Package links derives the connections that locks use from the application's client.
//
// Locks must not share the application's own pool, for three reasons, all of them measured:
//
//   - go-redis honours a command's deadline only with ContextTimeoutEnabled, which most
//     applications leave off; a renewal that hangs past its lease is a lost lock.
//   - If an application exhausts its pool, every further command waits for PoolTimeout, several
//     times over; a renewal then starts after its lease has ended.
//   - go-redis repeats a command whose reply was lost. A script that counts must never be repeated
//     without the knowledge of the caller that counts its attempts.
//
// So a [Links] owns a client with the application's address, credentials and TLS but with its own limits. All that is
// sent for locks uses its connections, and each request any of them. In particular a renewal uses those that the hold
// was acquired with: a server that has no place left, a process without file descriptors or a name server that does not
// answer costs no hold then. Each exchange has its connection alone, and there are more of them than callers can have
// exchanges under way, so a renewal waits for nothing but its server. The application's client is read for its options
// and never closed.
//
// Dialling has its own time limit, and so has go-redis's greeting, which takes several round trips. They need not
// fit into the limit of the command that needed the connection: over a long distance they never would, however
// often they were repeated. A request with a final time limit, such as a release, still ends within it.
//
// What a server sends on these connections is bounded before go-redis reads it (package frames). The application's own
// client is not, nor are go-redis's connections to Sentinels. If go-redis panics all the same, that is an error of the
// exchange in which it happens (guard).
//
// # Why it is safe
//
// A connection that is closed or refused here leaves at most one question open: whether the request under
// way was carried out. Its sender has to ask that after every broken connection, so nothing in this package can
// produce a second holder; it decides how soon a sender learns. Each exchange has a deadline, so no caller waits
// for ever, and nothing repeats a request, so none is carried out twice without its sender's knowledge. If the
// follower is wrong about a primary, the connections to it are made again, once it is named as one.
//
// # When a primary is replaced
//
// go-redis is slow to learn of it. A cluster client reads the map of the slots again after a MOVED, and otherwise
// once a minute. A client of Sentinel asks it when it dials, and closes the connections to a deposed primary only
// in the pool that NewFailoverClient made. A derived client would renew on the old primary for as long as that
// answers, while the key expires on the new one and another process takes the lock. So a follower asks for the
// primaries while there is doubt: after a failed connection, a refusal that no primary sends, or half a second of
// silence; and, behind Sentinel, when the primary has lost a replica, which may have been promoted (ROLE, twice a
// second while the client is in use, over a connection of its own). The connections to a replaced primary are closed
// at once, in use or not, and the callback of OnReplaced is called.
//
// # When Sentinels do not answer
//
// Then nobody can say who is the primary, and it must not matter while the last known one is well: Sentinels are
// there for the rare moment at which it is not. So it is dialled without them, and trusted while ROLE confirms that it
// is a master whose replicas receive what it writes; [primary] has the rule, and why it is safe. A connection has no
// age at which it ends, because its successor would need a Sentinel.
//
// Its age was not useless: if a process is cut off together with the old primary from all else, that one answers it
// for ever, nobody tells either of them, and each connection that ended brought the question back to Sentinels that
// did not answer. The rule does the same, for the same reason and sooner: a primary whose replicas no longer confirm is
// left after a quarter of a lease, or 2.5 s if that is longer, unless a Sentinel names it. What no rule can see is one
// Sentinel on that side which goes on naming the old primary; no majority stands behind it, but a client asks one.
//
// A Ring is refused: it moves a name to another shard by each client's own heartbeat, so two clients
// of one Ring can hold the same lock although every Redis kept its keys.
package links
