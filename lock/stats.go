package lock

import "time"

// Stats is what a client does at this moment, as far as it knows without a request. To look costs some time for each
// hold: do it every few seconds, not for each call.
type Stats struct {
	Store         Store
	Holds         int           // that are live; readers that share a grant are one, each member of a multilock is one
	Kept          int           // locks that nobody holds and that stay with this client: see Keep
	Waiters       int           // calls that were told to wait; one that asks for the first time is none yet
	LeastValidity time.Duration // what is left of the hold whose validity ends first; 0 without holds
	RenewalsDue   int           // whose time has come and that are not confirmed: a few at any time, many in an outage
	ReleasesOwed  int           // that the store has not confirmed, and that go on in the background
	Coalesced     int64         // events that were dropped because the Observer or the Logger was too slow
}
