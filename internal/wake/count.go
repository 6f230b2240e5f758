package wake

// Count is how many messages of a channel were heard under one subscription. The zero Count is that of
// a channel that is not subscribed to.
type Count struct {
	stand uint64 // which subscription; none has the number 0
	heard uint64
}

// Since is how many messages came after base was read. It reports false if that cannot be told: under
// another subscription, or none, some may have been missed.
func (c Count) Since(base Count) (n int, ok bool) {
	if c.stand == 0 || c.stand != base.stand {
		return 0, false
	}
	return int(c.heard - base.heard), true
}

func (l *line) count(channel string) Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[channel]; t != nil && t.confirmed {
		return t.count
	}
	return Count{}
}
