package lua

var releaseScript = newScript("release")

// ReleaseArgs says what [Release] ends, and who is told.
type ReleaseArgs struct {
	Lock, ID string
	Channel  string // on which the waiters listen
	Sharded  bool   // publish by SPUBLISH, as clusters do
	WantNow  bool   // tell the server's time, at the cost of one call inside the script
}

// ReleaseReply is the answer to [Release].
type ReleaseReply struct {
	Status    Status // Done or Gone
	Receivers int64  // Done: who heard of it, at this node; -1: Redis refused to publish
	Now       int64  // WantNow: server time in µs, read before the hold was looked at
}

// Release ends a hold, whatever count stands, and wakes the waiters.
func Release(a ReleaseArgs) *Call[ReleaseReply] {
	if err := check("release",
		checkKey("lock", a.Lock), checkID(a.ID), checkKey("channel", a.Channel)); err != nil {
		return refuse[ReleaseReply](err)
	}
	publish, wantNow := "PUBLISH", 0
	if a.Sharded {
		publish = "SPUBLISH"
	}
	if a.WantNow {
		wantNow = 1
	}
	return newCall(&releaseScript, 1, decodeRelease, a.Lock, a.ID, a.Channel, publish, wantNow)
}

func decodeRelease(value any) (ReleaseReply, error) {
	r := newReader(value, 3)
	reply := ReleaseReply{Status: r.status(0), Receivers: r.int(1), Now: r.int(2)}
	return reply, r.err
}
