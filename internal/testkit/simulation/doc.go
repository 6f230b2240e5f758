// Package simulation runs whole clients over a store in memory, in virtual time: processes whose goroutines lock, try,
// nest, give up, limit, break, move and close, over a network that delays, doubles, reorders and loses, on a server
// whose clock may be set back, whose commits may take long, or in whose place another one steps; or on three or five
// independent servers. A seed makes the kind of the locks, the programs, the network and the instants of everything.
//
// # What is checked
//
//   - No two live contexts of one lock, but for readers, for a read inside a write, and for what [rlock.Lock.Break]
//     took away.
//   - Tokens strictly grow in the order in which holds begin. A reader's is not below the last writer's and below the
//     next one's; inside a write it is that one's.
//   - Those who hold permits never have more than the capacity together.
//   - A lock that is retained after its unlock ([rlock.MinHold]) is nobody's until then.
//   - Permits that nobody owns, and counts of a latch, are counted exactly once, and what was given up comes back. The
//     clock is not set back then: what a request did is remembered by it.
//   - A latch is not open for anybody before all have counted down.
//   - Who called Lock first, in one process, comes first, where every request is carried out once and answered in
//     time: a waiter whose hold is over before it is told of it comes in again, behind the others.
//   - A fair lock's waiters have it in the order in which they came into its queue, whichever process they are in, also
//     after a caller that took the lock without queueing. The condition is the same, and there are two exceptions: a
//     process may use the turn of its waiter that gave up while it was being registered or invited, and a process is
//     passed over if the lease of its hold ran out while the hold was on its way to another process. A message that is
//     late, but comes before its invitation is over, changes no order. A later message costs its waiter the turn;
//     schedules with such messages are not checked for order.
//   - Who has a set of locks has each of them, and the plain ones by one grant, which is new: a set inherits no member.
//     Who failed to get it has none. A set is not kept waiting where all its names are free.
//   - A lock over independent servers is held once and has growing tokens, whatever happens to each server and to each
//     way to it: one freezes, comes back empty, has its clock set ahead by less than the margin of a hold, or back.
//     A node is told that a hold has ended as soon as it answers; the lease is not waited for.
//   - Once the network is well, no lock is free for long while somebody waits, and every call returns. Where no client
//     closes and nobody gives up, a fair lock is free for no longer than until the next question of a process, whatever
//     holds were broken: nobody is invited whose turn is over (defect F9).
//   - Once every call has returned, nothing is left in the store, though no client was closed. Where copies of answered
//     requests come late, the clock is set back, or a client is closed that does not reach the server, a place in a
//     fair lock's queue may be left until that expires.
//
// # What it is not
//
// A process that stops is one that the network does not serve: its goroutines and timers go on. And a seed fixes what
// the schedule is made of, but not the order of goroutines that are ready at one instant, nor the pauses that the
// engine draws by lot: to see a failure again may take several runs of its seed. [Replay] counts how often it repeats
// itself, and docs/evidence.md has the figure.
package simulation
