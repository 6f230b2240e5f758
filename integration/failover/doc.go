// Package failover measures what the loss of a primary costs those who use locks there: ours, and a peer's in the
// same run.
//
// A [Site] is a cluster of three primaries and three replicas, or a primary with a replica and three Sentinels, and
// a way in which the primary goes. A [Library] is a locker under test. [Run] has clients of each library hold a
// hundred names that nobody waits for and contend for fifty others, all served by the primary that goes; a
// [witness] that knows nothing of Redis notes who believed in which lock from when until when. What comes of it
// are [Figures].
//
// "Serves" is the moment at which the replica takes writes. What clients could know is later: behind a Sentinel,
// by up to a second after a planned failover, because the Sentinels look at their replica once a second.
package failover
