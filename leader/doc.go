// Package leader elects one of several processes, over any exclusive lock of this module: the process that holds the
// lock leads.
//
//	election := leader.New(rlock.New(client, "scheduler"), leader.Value("10.0.0.1:80"))
//
//	err := election.Run(ctx, func(term context.Context) error {
//		return schedule(term) // must return when term ends
//	})
//
//	for who, err := range election.Observe(ctx) { // in any process
//		...
//	}
//
// A term is a hold of the lock, and its context. [Election.Campaign] waits for it, its resign ends it, [Election.Run]
// does both, and campaigns again after a loss.
//
// # Rules
//
//  1. Stop when the term's context ends, and pass it on to all that leads: requests, transactions, further locks.
//  2. Send the term with every write that a successor must not see undone: [Election.Term] returns it, a fencing token,
//     and package fence has storage refuse older ones.
//  3. Take this lock only through an Election of its name. Anything else that holds it counts as a leader without a
//     value.
//
// # What is promised, and what is not
//
// At most one process has a term that is live, as long as the lock excludes: see "What is promised" of package rlock,
// or of redlock, whose locks outlive the loss of a server. The term ends before anybody else can lead: a leader that is
// cut off is told before its lease ends in the store. A leader that is stopped for a minute finds its term ended when
// it runs again; what it writes before it looks is what the fencing token is for. Terms grow.
//
// Current and Observe say who led when the store was asked. What a leader says of itself counts for as long as its hold
// stands in the store: after a crash until the lease ends, and not a moment longer. It may be missing for a moment
// while a new leader is about to say it, and between two questions terms may be missed. It says nothing of whether the
// leader works.
//
// A candidate that died leaves its note, one small hash, which counts for nobody. The next leader writes over it, and
// it is gone after a year.
//
// # When campaigns fail
//
// Campaign returns its error. Run returns an error only if another campaign would have the same: for example that the
// store refuses a candidate that it has not accepted before, because its password is wrong or its user lacks a right.
// That error matches lock.ErrUnavailable and names what was refused. After all other errors Run campaigns again, also
// when the store refuses a candidate that it accepted before. The client's Logger has a line when campaigns begin to
// fail and another when the store answers again. [Election.Err] is the last error until then.
//
// # What it costs
//
// A term costs what a hold of the lock costs: a round trip, and a renewal every third of a lease, together with all
// others of the client. Where others are told, one round trip more at its begin and at its end. Candidates wait as
// waiters of the lock do: one of a process asks. Current is one round trip, and Observe one every second.
//
// # Why it is safe
//
// There is no second truth: to lead is to hold the lock, and the note beside it is read together with the lock, by one
// script, and counts only while the hold stands that wrote it. A script writes it, if the hold stands and if no newer
// term has written. So of two leaders' notes that race, the one whose hold is gone is refused, whenever it arrives:
//
//	A leads (term 7), is stopped, and its lease ends; B leads (term 9) and writes its address
//	A runs again, and sends its address, as it was about to: its hold is not there, nothing is written
//
// A request that is sent twice writes the same twice. If its reply is lost Campaign sends it again, and if the store
// does not answer it gives the lock back, so that the others can find every leader.
package leader
