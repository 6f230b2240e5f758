// Package lua holds the scripts that work on locks in Redis, and a function for each that
// makes its call and reads its answer. It is the lowest layer of this module, importable
// but not a stable API: what a script takes and answers may change with any version.
//
// # Model
//
// A lock is a hash at the lock's name, as Redisson has it: one field, the hold id, with the
// hold's count as its value, and an expiry that is the lease. A hold that was entered more
// than once has a second field, <hold id>:n, its operation number. Beside it the newest
// fencing token of the name is kept in a string, where Redisson's fenced lock keeps it.
//
//	        Acquire                Handoff, Adopt
//	free ──────────────▶ held by h ──────────────▶ held by h'
//	  ▲                   │  ▲  │
//	  │  Release, expiry  │  └──┘ Reenter, Leave, Renew
//	  └───────────────────┘
//
// Redis alone decides who holds a lock, and each script decides in one step, between which
// nothing else runs. The package keeps no state and no clock of its own.
//
// # Why a copy does no harm
//
// A request can be lost, answered without the answer arriving, sent again, duplicated on
// the way, or lie in a buffer for longer than everybody's patience. So each script must
// tell a second copy of itself from the first, and a late one from one in time:
//
//   - Acquire, Handoff and Adopt make a hold under an id that is used once. A copy that
//     follows finds the id and answers Already. A copy that comes after the hold's end
//     would find nothing and make the hold again, for nobody; that is what not-after is
//     for: from that time of the server's own clock on, they answer Late and write nothing.
//     The caller that wants to be sure that no copy is left releases the id until an answer
//     bears a later time: in Release the time is read first, so a hold that was not there
//     at that time will never be.
//   - Reenter and Leave write the count that is meant, not a difference, together with an
//     operation number that must be higher than the stored one. Comparing counts would not
//     do: after up and down again the old count stands there once more.
//   - Release, Handoff and Adopt begin with the id of the hold that ends. No later hold
//     has it, so nothing late can end one.
//   - Renew creates nothing and only lengthens.
//   - Mint, repeated, makes a higher token. A lost one is a gap in the sequence.
//
// Copies are not made behind the caller's back either: commands are marked so that go-redis
// sends each one time only. The caller sends again, and knows which attempt answered.
//
// # Why a failure leaves nothing half done
//
// What a script wrote before it failed stays written. So every script reads all it needs,
// and refuses what it does not like, before its first write, and sends Redis no argument
// that can be refused: times are checked in Go. Anything at a key that is not a lock or a
// token is [ErrConflict]; it is never "busy", for nobody would release it, and never
// overwritten.
//
// At full memory Redis refuses the first write of a script if it may need memory, and
// nothing after that. The scripts that take something write HSET first and are refused
// whole; those that give something back start with HDEL, DEL or PEXPIRE and pass.
//
// # Bundles
//
// [Bundles] makes one call of many acquisitions or releases of different locks, for a server that takes keys of
// any slots. Every one of them does what it would by itself, in the same order of checks and writes; one that
// fails is caught, leaves nothing, and is sent again by itself, which then tells why. A server that turns out to
// want the keys of a script in one slot refuses a bundle before anything of it runs ([Crossed]).
//
// # Cluster
//
// All keys of a call lie in one slot. While a slot migrates only scripts of one key are
// sure to run; therefore the channel is an argument and not a key, [Acquire] works without
// token key, and [Mint] follows with the token. Handoff's fallback is Release.
//
// # Keys
//
// What is sent names every key as KEYS[n], though the sources give it a name: some hosted servers refuse a script that
// holds a key in a variable. It cannot be so in these:
//
//   - acquire_all, acquire_many, release_many, renew, permit_renew, rw_write_renew and rw_read_renew, which serve many
//     locks. Where they are refused each lock is served by itself, by a script that names its keys.
//   - quorum_keep, which has no such other way.
//   - rw_read_reenter, rw_read_leave, rw_read_release, rw_write and rw_inspect, which touch the hold keys of readers:
//     Redisson has one for each level of each reader. Those that the caller knows are among the keys of the call;
//     those of other readers, and of levels that a lost step left, only the hash tells of. They are in its slot, but
//     a server that refuses keys which are not among those of the call is not one for read-write locks.
//
// # Servers
//
// Redis from 6.2 on, Valkey, and miniredis, with which tests of applications run. Where there
// are no sharded channels (Redis 6, miniredis) nobody should ask for them; if it is done all
// the same, Release releases and Inspect inspects, and the number of listeners is -1.
package lua
