package lock

import "time"

// Stats is what a client does at this moment, without a request.
type Stats struct {
	Holds         int           // that are live; readers that share a grant are one
	Waiters       int           // calls that wait
	LeastValidity time.Duration // what is left of the hold whose validity ends first; 0 without holds
	RenewalsDue   int           // whose time has come and that are not confirmed
	ReleasesOwed  int           // that Redis has not confirmed, and that go on in the background
	Coalesced     int64         // events that were dropped because the Observer or the Logger was too slow
}
