// Package request sends the requests of one client until their outcome is known, and cleans up after those whose
// outcome stays unknown.
//
// A request can be lost before it is carried out, its reply can be lost after, a copy of it can come later, and its
// caller can leave in between. Four rules make that safe:
//
//   - A request that takes something says how late it may be carried out (see [Sending]). Beyond that the store
//     does nothing for it, so there is an instant after which no copy of it does anything.
//   - A request is sent again under the same id ([Sender.Retry]). Carried out twice, it takes one hold.
//   - A caller that leaves ([Call]) hands its request over: what the late reply grants is released.
//   - An id that nobody treats as a hold any more is released until the store knows that no copy of its requests can
//     come ([Sender.Disown]). A request that was refused is not cleaned up after: a copy of it that the network
//     delivers when the lock has become free takes it for a lease.
//
// # A request that comes late
//
// A client asks for a lock with a lease of 30 s, at 12:00:00 on the clock of a server that has one, and the request may
// be carried out 3 s later at most. The store makes a not-after of that, 12:00:03 on the server's clock.
//
//	12:00:00.0  the request leaves, and the network holds it back
//	12:00:03.0  the client has no answer, and its caller gives up: the ledger takes the id over
//	12:00:03.1  a release of the id is answered "not there", at 12:00:03.1: nothing can come any more
//
// Had the answer said 12:00:02.9, the request could still arrive in the tenth of a second that was left, and take the
// lock for nobody, for 30 s. So the release is sent again until an answer shows a time beyond the not-after. The
// argument needs no estimate of the server's clock: both times are the server's own. The estimate decides only when it
// is worth asking again.
//
// A server that fails over to a clock that is behind makes the not-after later by as much, and the answer that ends the
// releasing with it. If nothing is ever answered, the ledger stops when the not-after and the lease are over by the
// client's own clock: what was taken is free again then.
//
// # What an answer means
//
// What the store says to a request whose outcome was unknown:
//
//	second answer   acquire          step, renewal       release
//	-------------   --------------   -----------------   --------------------------------
//	done            it had not been  it had not been     it had not been carried out
//	already         it had been      it had been         -
//	not there       -                the hold is lost    it had been carried out: no loss
//	late            never will be    -                   -
//	no answer       disown the id    the lease decides   disown the id
//
// An acquisition from another hold can be answered "not there" as well: that hold is over, or another's. "Busy" says
// nothing of the requests before it (see [Attempts.Refused]).
//
// No mutex of this package is held over I/O. That of the ledger is taken before the Sender's own.
package request
