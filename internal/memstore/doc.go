// Package memstore is a store in memory: what package store asks for, without a database. A [Server] is the database,
// and each [Store] on it one client's way there. It keeps what Redis keeps by the scripts of package lua, no more, and
// by the clock of package time: in a bubble of testing/synctest its leases run out in virtual time.
//
// # Faults
//
// A [Server] asks its network for the [Fate] of every request, message and subscription. So a request can be late,
// doubled, lost or overtaken, its answer lost after the effect, its effect unseen for a while, and a message lost;
// [Store.Break] ends a client's subscriptions as a broken connection does.
//
// # What it has
//
//	plain lock       acquire, adopt, levels, release, renew, inspect, several at once
//	read-write lock  the same of either side, but several at once; reads inside a write, and the gate
//	semaphore        acquire, release, renew, inspect, capacity, delete
//	counting, latch  acquire or wait, cancel, every change; requests are remembered as long as in Redis
//	fair lock        the plain lock's; places, invitations, clients that live by the queue's clock
//	other primitives nothing: their requests are refused
//
// The server's clock can be set back. A script that takes several steps in Redis takes one here: a writer that comes
// across dead readers has them cleared away and the lock at once. No key expires for want of use but those of a fair
// lock's queue. There is no Java: nobody waits in its fair lock's queue.
//
// The fair lock is compared with the scripts: both answer random requests alike, and keep the same (fair_twin_test.go).
package memstore
