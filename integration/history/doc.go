// Package history lets client processes contend for locks under faults, records when each of them
// believed in its holds, and checks the record.
//
// Four processes, with several goroutines each, lock a few names in every way that a Lock offers. Each
// has a path of its own to one Redis, through a fault proxy. A schedule that a seed decides loses,
// delays and duplicates requests, cuts and swallows, freezes and kills clients, freezes Redis, and drops
// its connections and scripts. Nothing that Redis keeps is taken away from it (class A: no restart, no
// deletion, no eviction), so the believed intervals of a name must never overlap at all. What follows when
// Redis forgets is tested elsewhere, where the bound can be asserted for a single loss.
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
// is one, without any tolerance.
package history
