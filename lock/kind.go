package lock

// Kind is what a lock is. It is fit for a label.
type Kind string

// The kinds of locks.
const (
	KindLock      Kind = "rlock"
	KindRead      Kind = "read"  // the read lock of a read-write lock
	KindWrite     Kind = "write" // its write lock
	KindFair      Kind = "fair"
	KindSemaphore Kind = "semaphore" // whose permits have leases
	KindCounting  Kind = "counting"
	KindLatch     Kind = "latch"
	KindMultilock Kind = "multilock"
	KindRedlock   Kind = "redlock"
)

// Store is what keeps locks, in a word that is fit for a label. The package of each store's client has its own: there
// is a value for each kind of database, and none for a server.
type Store string
