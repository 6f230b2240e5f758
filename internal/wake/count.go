package wake

// Count is how many messages of a channel were heard under one subscription. The zero Count is that of
// a channel that is not subscribed to.
type Count struct {
	Subscription uint64 // which one; none has the number 0
	Messages     uint64
}

func (l *line) count(channel string) Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[channel]; t != nil && t.confirmed {
		return t.count
	}
	return Count{}
}
