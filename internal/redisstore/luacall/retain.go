package luacall

var retainScript = newScript("retain")

// RetainArgs are the arguments of [Retain].
type RetainArgs struct {
	Lock, ID string
	As       string // id under which the lock is retained
	Until    int64  // server time in µs
	Channel  string // on which the waiters listen
	Sharded  bool   // publish by SPUBLISH, as clusters do
}

// Retain ends a hold, whatever its count, and retains the lock until a time. Waiters get a message, so that they learn
// how long.
func Retain(a RetainArgs) *Call[ReleaseReply] {
	if err := check("retain", checkKey("lock", a.Lock), checkMove(a.ID, a.As), checkKey("channel", a.Channel),
		checkUntil(a.Until)); err != nil {
		return refuse[ReleaseReply](err)
	}
	return newCall(&retainScript, 1, decodeRelease, a.Lock, a.ID, a.As, a.Until, a.Channel, publishBy(a.Sharded))
}
