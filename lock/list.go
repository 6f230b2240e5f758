package lock

import "time"

// The kinds that only a list of locks tells, as operate.List does. It knows locks by their keys, and these do not
// always tell which kind it is: a fair lock that nobody waits for, and a member of a multilock or a redlock, are
// KindLock; a counting semaphore or a latch is KindCounting or KindLatch while a client waits for it. KindRead,
// KindWrite, KindMultilock and KindRedlock are never told.
const (
	KindReadWrite Kind = "rwlock"  // a read-write lock; Entry.Mode is the side that is held
	KindNumber    Kind = "number"  // a counting semaphore or a latch; looked up by name, any number
	KindUnknown   Kind = "unknown" // a name that was locked lately and that nobody holds
)

// Entry is one lock in the store, held by whomever.
type Entry struct {
	// Name is the lock's name for the client that asked: a handle that New makes of it is on this very lock. Its key
	// has ClientOptions.Prefix before it.
	Name string
	Kind Kind
	Mode string // of a read-write lock that is held: "read" or "write"

	// Info is what Inspect tells, with these differences: of one lock at most 100 holders are listed, the Queue is
	// empty, and each other client that waits counts as one, except for those of a fair lock.
	Info
	WaitersUnknown bool // the store did not say how many wait

	Number     int64 // of free permits, or a latch's count
	NoCapacity bool  // callers wait for a semaphore whose capacity nobody has set, so there is no Number

	Fence int64 // the newest fencing token of the name; 0 if none was ever minted

	// Since is when the newest fencing token was minted. For a lock that one holder has, and that holdfast took, that
	// is when the store granted it. It is zero if it is not known, as for permits. Java's locks mint no tokens, other
	// than RFencedLock's, which do not tell the time: if Java holds a name that Go locks as well, Since may be too
	// early.
	Since time.Time
}

// Free reports that nobody holds the lock, nobody is known to wait, and no transaction keeps it from others: the entry
// says only that its name was in use within the last days, or that a semaphore or latch exists.
func (e *Entry) Free() bool { return e.Held == 0 && e.Waiters == 0 && len(e.Transactions) == 0 }

// Leak is a key that should expire and never will: nobody renews it, and nothing but operate.Free ends it. This module
// and Redisson write such keys with an expiry in one step, so a leak comes from another program, or from PERSIST.
type Leak struct {
	Key     string
	Name    string   // the lock that it belongs to
	What    string   // what it is, and why that is bad
	Holders []string // of a lock, the ids of its holds
}
