package luacall

var keepScript = newScript("keep")

// KeepArgs are the arguments of [Keep].
type KeepArgs struct {
	Lock, ID string
	As       string // id under which the lock is kept
	Until    int64  // server time in µs
	Channel  string // on which the waiters listen
	Sharded  bool   // publish by SPUBLISH, as clusters do
}

// Keep ends a hold, whatever its count, and keeps the lock until a time. Waiters are told, so that they learn how long.
func Keep(a KeepArgs) *Call[ReleaseReply] {
	if err := check("keep", checkKey("lock", a.Lock), checkMove(a.ID, a.As), checkKey("channel", a.Channel),
		checkUntil(a.Until)); err != nil {
		return refuse[ReleaseReply](err)
	}
	return newCall(&keepScript, 1, decodeRelease, a.Lock, a.ID, a.As, a.Until, a.Channel, publishBy(a.Sharded))
}
