package servers

import "time"

// Backoff paces polling: fast at first, never slower than a test would notice.
type Backoff struct{ next time.Duration }

// NewBackoff returns one that has not slept yet.
func NewBackoff() *Backoff { return &Backoff{next: 2 * time.Millisecond} }

// Sleep waits before the next try.
func (b *Backoff) Sleep() {
	time.Sleep(b.next)
	b.next = min(b.next*5/4, 10*time.Millisecond)
}
