package memstore

import "time"

// Kind says what a [Request] is.
type Kind string

// The kinds of requests, of which several make one where they are sent in one go, and what goes over the subscriptions.
const (
	Acquire   Kind = "acquire"
	Adopt     Kind = "adopt"
	Levels    Kind = "levels"
	Note      Kind = "note"
	Release   Kind = "release"
	Renew     Kind = "renew"
	Inspect   Kind = "inspect"
	Change    Kind = "change"
	Enqueue   Kind = "enqueue"
	Tell      Kind = "tell"
	Subscribe Kind = "subscribe" // Key is the channel
	Message   Kind = "message"   // of a channel to one client; it has no answer
)

// Request is one thing that goes over the network.
type Request struct {
	Client int    // the number that the client was given by [Server.Store]
	Nth    uint64 // of the client's, from 1 on
	Kind   Kind
	Key    string // the first one of several
}

// Fate is what the network does to a request. The zero Fate has it carried out and answered at once.
type Fate struct {
	Before time.Duration // until the server reads it
	After  time.Duration // from then on, until the answer is there
	Lost   bool          // the server never reads it; the client learns after Before and After
	Mute   bool          // its answer is lost; the client learns after Before and After
	Refuse bool          // the server refuses it, and would not later
	Again  time.Duration // so long after the request the server reads a copy of it; 0: it does not
	Commit time.Duration // for how long nobody sees that it took a plain lock; only then it is answered
}

// Network decides. Fate is called by many goroutines.
type Network interface{ Fate(r Request) Fate }
