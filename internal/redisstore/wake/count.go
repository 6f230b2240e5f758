package wake

import "github.com/holdfast-go/holdfast/internal/store"

// count is the count of a channel while its subscription is confirmed, and otherwise zero: a number from before
// a gap says nothing about what was published in it.
func (l *line) count(channel string) store.Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[channel]; t != nil && t.confirmed {
		return t.count
	}
	return store.Count{}
}
