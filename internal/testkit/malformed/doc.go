// Package malformed has every kind of call answered by bytes that are no reply: headers with huge lengths, values of
// the wrong type, frames that are cut short or never end, statuses that no script has.
//
// A schedule is one call, one kind of answers to its requests, and a client of its own; all is drawn from a seed. What
// must hold, whatever comes:
//
//   - The process goes on, with bounded memory.
//   - The call returns in its time, and so does Close.
//   - Nothing is taken for a reply: a call all of whose requests were answered so returns an error, and a hold whose
//     renewals were is lost. A call that can do without the answers, as a lock over three nodes can without those of
//     one, succeeds.
package malformed
