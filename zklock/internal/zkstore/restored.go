package zkstore

// latest is the latest change that was seen.
func (s *Store) latest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zxid
}

// saw notes how far ZooKeeper is. Its changes are numbered, and the number never falls, unless data were restored that
// are older.
func (s *Store) saw(f *found) {
	s.mu.Lock()
	if fell := f.zxid < f.before; !fell {
		s.zxid = max(s.zxid, f.zxid)
		s.mu.Unlock()
		return
	}
	s.zxid = f.zxid
	s.mu.Unlock()
	s.host.Warn("ZooKeeper is not what it was: older data were restored, or it is another ensemble", "zxid", f.zxid,
		"before", f.before)
	s.host.Replaced()
}
