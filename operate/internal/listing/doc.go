// Package listing finds the locks in a Redis, this module's and Redisson's, and keys of locks that should expire and
// never will. It reads keys as any program may, and knows no engine.
//
// # How a lock is recognised
//
// There is no common prefix, so SCAN walks every primary, and what it finds is sorted by name and type:
//
//   - A hash at a name is a lock if its fields are ids of holds, which begin with a client's UUID, and "mode" if it
//     is a read-write lock. A hash of an application has neither.
//   - A sorted set {name}:timeout is that of a semaphore whose permits have leases.
//   - A number at a name is any program's, so a counting semaphore or a latch is found by what is beside it: the key
//     that remembers its requests for about two leases, or a channel that somebody listens to.
//   - A token key says that its name was locked within the last nine days or so.
//   - A channel of ours or Redisson's says that somebody waits.
//
// # What it costs
//
// Redis is never held up: SCAN walks some hundred keys at a time, one pipeline asks for their types and two more for
// what the locks among them are, and of a big hash or set only a part is read. What is remembered is bounded, too: a
// hash of each name told, of a million names at most, because SCAN may return a key twice.
//
// What is told was true when it was read; one lock is not read in one atomic step, as Inspect does.
package listing
