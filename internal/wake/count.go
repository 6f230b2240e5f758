package wake

import "github.com/holdfast-go/holdfast/internal/store"

func (l *line) count(channel string) store.Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[channel]; t != nil && t.confirmed {
		return t.count
	}
	return store.Count{}
}
