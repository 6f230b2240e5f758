package watchdog

// Renewing reports that the renewal of l is due, or under way. It is for tests.
func (w *Watchdog) Renewing(l *Lease) bool {
	now := w.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == live && l.kept && (l.busy || w.reached(l.renewAt, now))
}
