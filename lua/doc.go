// Package lua holds the scripts that work on locks in Redis: one file each, whose header says what KEYS and ARGV are,
// what it returns and what it publishes. [Script] has the digest under which a trace of a server's commands shows a
// script. The package can be imported but is not a stable API: arguments and replies of a script may change with any
// version. Package internal/redisstore/luacall makes the calls and reads the answers.
//
// # Model
//
// A lock is a hash at the lock's name, as in Redisson: one field, the hold id, with the hold's count as its value, and
// an expiry that is the lease. The newest fencing token of the name is a string in a key of its own, where Redisson's
// fenced lock keeps it.
//
//	        Acquire                     Adopt
//	free ──────────────▶ held by h ──────────────▶ held by h'
//	  ▲                   │  ▲  │
//	  │  Release, expiry  │  └──┘ Levels, Renew
//	  └───────────────────┘
//
// Redis alone decides who holds a lock, and each script decides atomically: nothing else runs meanwhile. The package
// keeps no state and no clock of its own.
//
// # Why a copy does no harm
//
// A request can be lost, lose its reply, be sent again, be duplicated on the way, or sit in a buffer for longer than
// anybody waits. So each script must tell a second copy of itself from the first, and a late one from one in time:
//
//   - Acquire and Adopt make a hold under an id that is used once. A later copy
//     finds the id and answers Already. A copy that arrives after the hold's end
//     would find nothing and make the hold again, for nobody. The not-after prevents
//     that: from that time of the server's own clock on, they answer Late and write nothing.
//     A caller that must be sure that no copy is left releases the id until an answer
//     bears a later time. Release reads the time first, so a hold that did not exist
//     at that time never will.
//   - Levels goes from one count to another, and only if the first one stands. A late copy
//     may find it standing again, and leave the count wrong until the next step or the end
//     of the hold. Nothing depends on a count, and no key is ever made by it.
//   - Release and Adopt name the id of the hold that ends. No later hold
//     has it, so nothing late can end one.
//   - Renew creates nothing and only lengthens.
//
// # Why a failure leaves nothing half done
//
// What a script wrote before it failed stays written. So every script reads everything it needs, and refuses what is
// wrong, before its first write, and sends Redis no argument that can be refused: times are checked in Go. Anything
// at a key that is not a lock or a token is [ErrConflict]. It is never "busy", because nobody would release it, and
// it is never overwritten.
//
// When memory is full Redis refuses the first write of a script if it may need memory, and nothing after that. A
// script that takes something writes HSET first and is refused as a whole; one that gives something back starts with
// HDEL, DEL or PEXPIRE and succeeds.
//
// # Bundles
//
// acquire_many and release_many do the work of several acquisitions, or releases, of different locks, for a server that
// accepts keys of any slots. Each of them has the same effect as by itself, with the same order of checks and writes. A
// call that fails is caught, leaves nothing, and is sent again by itself, which yields the reason. A server that wants
// the keys of a script in one slot refuses a bundle before any of it runs.
//
// # Cluster
//
// All keys of a call lie in one slot, and the channel is an argument and not a key. While a slot migrates only scripts
// of one key are sure to run. What renews and releases has such a way; what takes is refused until the slot has moved.
//
// # Keys
//
// The text that is sent names every key as KEYS[n], although the sources use names: some hosted servers refuse a
// script that holds a key in a variable. These scripts cannot follow that rule:
//
//   - acquire_all, acquire_many, release_many, renew, permit_renew, rw_write_renew and rw_read_renew serve many
//     locks. Where they are refused, each lock is served by itself, by a script that names its keys.
//   - permit_renew_expiring serves many semaphores, and permit_renew stands in for it.
//   - quorum_renew has no such alternative.
//   - rw_read_release, rw_write and rw_inspect use the hold keys of readers: Redisson has one for each level of each
//     reader. Those that the caller knows are among the keys of the call. Those of other readers appear only in the
//     hash. They are in its slot, but a server that refuses keys which are not among those of the call cannot be used
//     for read-write locks.
//
// # Servers
//
// Redis from 6.2 on, Valkey, and miniredis, which applications use in tests. Without sharded channels (Redis 6,
// miniredis) no call should ask for them; if one does, release releases and inspect inspects, and the number of
// receivers or subscribers is -1.
package lua
