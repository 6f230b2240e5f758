package redlock

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// notices are what operators are told.
type notices struct {
	logger *slog.Logger
	warned atomic.Bool // of another client's lease that exceeds our guard time
}

// longLease warns, once, if the rest of another's lease shows that it exceeds this client's guard time.
func (s *notices) longLease(n *node, left, guard time.Duration) {
	if left > guard && s.warned.CompareAndSwap(false, true) {
		s.logger.Warn("holdfast: redlock: another process uses a lease longer than this client's RestartGuard; after "+
			"a restart a server may grant a lock that is still held: raise the guard time",
			"node", n.addr, "left", left, "guard", guard)
	}
}

// node reports a change in a node's state.
func (s *notices) node(text string, n *node, err error) {
	if err != nil {
		s.logger.Warn("holdfast: redlock: "+text, "node", n.addr, "error", err)
		return
	}
	s.logger.Info("holdfast: redlock: "+text, "node", n.addr)
}
