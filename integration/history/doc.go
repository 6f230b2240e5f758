// Package history lets client processes contend for locks under faults, records when each of them
// believed in its holds, and checks the record.
//
// Four processes, with several goroutines each, lock a few names in every way that a Lock offers: they
// wait, try, re-enter, let MaxHold end what they hold, export holds that another process imports, and break
// locks. A schedule that a seed decides injects faults. There are two classes of runs.
//
// In the first, nothing that Redis keeps is taken away from it, so the believed intervals of a name must
// never overlap at all. On a single server every process has a path of its own, through a fault proxy, on
// which requests and replies are lost, delayed, duplicated and cut; clients and Redis are frozen and killed,
// connections and scripts dropped. On a cluster slots migrate; behind Sentinels a replica that has everything
// takes over.
//
// In the second, Redis forgets: locks and tokens are deleted, all keys flushed or evicted, the server
// restarted without data, and locks broken by other processes. Then two may overlap, if there was such a loss
// before the second began, and for no longer than it takes to hear of one: a renewal period and a command's
// limit, and once more that limit for a server that has only just come back. Tokens are in order all the same.
//
// A run has five phases, and each can fail it:
//
//	warm-up   without faults; a run that does not get going proves nothing
//	faults    errors are allowed, overlaps are not; every kind of fault has to have happened
//	heal      every call under way returns within a bound; every lock's key is gone after the leases
//	liveness  every operation succeeds within a bound
//	audit     no overlap, tokens in order; no key but tokens, no subscription, no goroutine left
//
// Stamps are readings of CLOCK_MONOTONIC, which all processes of a machine share. They are taken inside
// the interval that they stand for: late at its start and early at its end. So an overlap that is found
// is one, without any tolerance. How long a holder stood still, because the machine had other things to do,
// is measured as well, and added to the time in which it has to hear of a loss.
//
// A process that breaks a lock ends the hold that it knows of first, so there nobody may overlap, whatever
// the class. It cannot end one whose reply is still on its way.
package history
