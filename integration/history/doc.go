// Package history lets client processes contend for locks under faults, records when each of them treated its
// holds as live, and checks the record.
//
// Four processes, with several goroutines each, lock a few names in every way that a Lock offers: they wait,
// try, re-enter, let MaxHold end their holds, export holds that another process imports, and break locks. On
// Redis they also take a fair lock, both sides of a read-write lock, sets of two names, and permits. A seeded
// schedule injects faults. There are two classes of runs.
//
// In the first, the store keeps all its data, so the live intervals of a name must never overlap at all. On a
// single Redis every process has its own path, through a fault proxy, on which requests and replies are
// lost, delayed, duplicated and cut; clients and Redis are frozen and killed, connections and scripts
// dropped. On a cluster slots migrate; behind Sentinels an up-to-date replica takes over; of the servers of a
// redlock one at a time comes back empty. On PostgreSQL paths lose everything or let it arrive late;
// connections are ended, also while their commits wait for the standby; strangers lock rows and the table;
// the server is frozen, crashes, and comes back; its synchronous standby takes over. On etcd any of three
// servers is frozen, killed and cut off, and the history compacted.
//
// In the second, the store forgets. In Redis locks and tokens are deleted, all keys flushed or evicted, the
// server restarted without data, and locks broken by other processes. In PostgreSQL rows are deleted and
// edited, the table is truncated, and a standby takes over that lacks the last commits. In etcd an operator
// deletes keys and revokes leases. Then two holds may overlap, if there was such a loss before the second began,
// and for no longer than it takes to learn of one: a renewal period and a command's limit, and that limit twice
// more, for a server that has only just come back and for a machine that is busy. Tokens must still be in order.
//
// A leader of etcd that comes back after it stood still for longer than a lease is in between: leases may end at
// that moment that others have renewed. If there are such, holds may overlap for a lease, as above.
//
// A run has five phases, and each can fail it:
//
//	warm-up   without faults; a run that does not get going proves nothing
//	faults    errors are allowed, overlaps are not; every kind of fault must happen
//	heal      every call under way returns within a bound; nobody has a lock after the leases
//	liveness  every operation succeeds within a bound, once the store answers the run itself
//	audit     no overlap, tokens in order; no hold, subscription, connection or goroutine left
//
// Two checkers judge the record: our own, which knows what may follow from a loss, and Porcupine, which is
// asked whether the holds of a name are those of one lock that gives out growing tokens, where nothing was lost
// of the name.
//
// Stamps are readings of CLOCK_MONOTONIC, which all processes of a machine share. They are taken inside the
// interval that they delimit: late at its start and early at its end. So every overlap that is found is real,
// without any tolerance. The time for which a holder was stopped because the machine was busy is measured as
// well, and extends the time in which it must learn of a loss.
//
// A process that breaks a lock first ends the hold that it knows of, so no overlap is allowed there, whatever
// the class. It cannot end a hold whose reply is still on its way.
package history
