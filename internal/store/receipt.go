package store

import "time"

// Timing is when a request is sent, and how late it may be carried out.
type Timing struct {
	Sent   time.Duration // on the client's clock, taken before anything that may hold the request up
	Within time.Duration // it has no effect later than that after its sending, as far as the store can tell
}

// Receipt is what is known of a request that took something or may have: since when the lease counts that it began, and
// until when a copy of it can be carried out. The zero Receipt is that of a request that was not sent.
type Receipt struct {
	Since time.Duration // on the client's clock: no lease that the request began may be counted from later
	Late  Late
}

// Late is until when copies of requests under one id can be carried out. Only the store knows what the number means. Of
// two of the same id the greater one covers both; with 0 none can.
type Late int64
