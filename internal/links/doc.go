// Package links derives the connections that locks run on from the client that the application
// hands in.
//
// Locks must not share the application's own pool. Three traps, all of them measured, are why:
//
//   - A command on go-redis honours its deadline only with ContextTimeoutEnabled, which most
//     applications leave off; a renewal that hangs past its lease is a lost lock.
//   - An application that exhausts its pool makes every further command wait for PoolTimeout, several
//     times over; a renewal then starts when its lease is gone.
//   - go-redis repeats a command whose reply was lost. A script that counts must never be repeated
//     behind the back of the one who counts its attempts.
//
// So a [Links] owns two small clients with the application's address, credentials and TLS but with
// its own limits: Traffic for acquisitions, releases and subscriptions, and Renewal, which nothing
// else can keep busy. The application's client is read for its options and never closed.
//
// Dialling has a time limit of its own, and so has the greeting by which go-redis makes itself known, of several
// round trips. They do not have to fit into the limit of the command that needed the connection: over a long way
// they never would, however often it was tried. What has to be over at some time, as a release, is over then all
// the same.
//
// # When a primary is replaced
//
// go-redis is slow to learn of it: a cluster client reads the map of the slots anew after a MOVED, and else once a
// minute; a client of a Sentinel asks it when it dials, and closes the connections to a deposed primary only in the
// pool that NewFailoverClient made. A derived client would renew on the old primary for as long as that answers,
// while the key runs out on the new one and somebody else takes the lock. So a follower asks for the primaries
// while there is doubt: after a connection failed, a refusal that no primary makes, or half a second of silence,
// and, behind a Sentinel, when the primary has lost a replica, which may have been promoted (ROLE, twice a second
// while the client is in use). The connections to one that was replaced are closed at once, in use or not, and who
// asked to hear of it is told. Should all that fail, a connection behind a Sentinel lives for a quarter of a lease.
//
// A Ring is refused: it moves a name to another shard by each client's own heartbeat, so two clients
// of one Ring can hold the same lock although every Redis kept its keys.
//
// # Replies that come at once
//
// A goroutine that waits for a reply is put to sleep, and with it, where there is nothing else to do, its
// thread. Waking both up takes about as long as a script: of a lock and its release on the same machine it is
// a quarter. So an exchange that is the only one of its client watches for the reply for 80µs before it sleeps,
// which is a round trip to another process of the machine with a script in it, and some to spare ("Empirical
// Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991). It gives way to every
// goroutine that can run. A reply that did not come in that time lets the next exchange of that connection go
// unwatched, the second one in turn the next three, then seven, up to 1023: a server across a network costs
// nothing. Over TLS nothing is watched for.
package links
