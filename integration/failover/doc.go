// Package failover measures what the loss of a primary costs the users of locks: ours, and a peer's in the same
// run.
//
// A [Site] is a cluster of three primaries and three replicas, or a primary with a replica or two and three
// Sentinels, and a way in which the primary is lost, or only Sentinels. A [Library] is a locker under test. [Run]
// makes clients of each library hold a hundred uncontended names and contend for fifty others, all served by the
// primary that will be lost. A [witness] that knows nothing of Redis records which client treated which lock as held,
// from when until when. The results are [Figures].
//
// "Serves" is the moment at which the replica accepts writes. Clients can know it only later: behind a Sentinel, by
// up to a second after a planned failover, because the Sentinels check their replica once a second.
package failover
