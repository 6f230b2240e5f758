package listing

import "time"

// Kind is what a lock is, as far as its keys tell.
type Kind string

// The kinds of locks.
const (
	Lock      Kind = "rlock"
	Fair      Kind = "fair"
	ReadWrite Kind = "rwlock"
	Permits   Kind = "semaphore"
	Counting  Kind = "counting"
	Latch     Kind = "latch"
	Number    Kind = "number" // a counting semaphore or a latch
	Unknown   Kind = "unknown"
)

// Entry is one lock.
type Entry struct {
	Name    string
	Kind    Kind
	Mode    string // of a read-write lock that is held: read or write
	Holders []Holder
	Held    int // all holders, those not listed too
	Waiters int // -1: the server does not say
	Number  int64

	NoCapacity bool // of a semaphore
	Fence      int64
	Since      time.Time // when the newest token was minted; zero if unknown
	Forever    bool      // it never expires
	Known      bool      // only known by name: nobody holds it or waits
}

// Holder is one hold.
type Holder struct {
	ID    string
	Count int64
	TTL   time.Duration // negative: no expiry
	Owner string
}

// maxHolders is how many holders of a lock are listed.
const maxHolders = 100
