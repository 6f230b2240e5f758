package luacall

import "github.com/holdfast-go/holdfast/internal/store"

var releaseScript = newScript("release")

// ReleaseArgs are the arguments of [Release].
type ReleaseArgs struct {
	Lock, ID  string
	Channel   string // on which the waiters listen
	Sharded   bool   // publish by SPUBLISH, as clusters do
	NoMessage bool   // what ends was in nobody's way for long
	WantNow   bool   // return the server's time, at the cost of one call inside the script
}

// ReleaseReply is the answer to [Release] and its like.
type ReleaseReply struct {
	store.ReleaseReply
	Now int64 // if it was asked for: server time in µs, read before the hold was looked at
}

// Releaser makes calls of [Release] for one lock.
type Releaser struct {
	lock, channel any
	invalid       error
}

// PrepareRelease uses Lock and Channel.
func PrepareRelease(a ReleaseArgs) *Releaser {
	return &Releaser{
		lock: a.Lock, channel: a.Channel,
		invalid: check("release", checkKey("lock", a.Lock), checkKey("channel", a.Channel)),
	}
}

// Call ends a hold, whatever its count, and wakes the waiters.
func (p *Releaser) Call(id string, sharded, wantNow bool) *Call[ReleaseReply] {
	return p.call(id, publishBy(sharded), wantNow)
}

func (p *Releaser) call(id string, publish any, wantNow bool) *Call[ReleaseReply] {
	err := p.invalid
	if err == nil {
		err = check("release", checkID(id))
	}
	if err != nil {
		return refuse[ReleaseReply](err)
	}
	var now any = 0 // constants are boxed by the compiler
	if wantNow {
		now = 1
	}
	args := append(make([]any, 0, 8), "evalsha", releaseScript.sha, 1, p.lock, id, p.channel, publish, now)
	return &Call[ReleaseReply]{script: &releaseScript, args: args, ints: releaseReply}
}

// publishBy is the command that publishes a release.
func publishBy(sharded bool) any {
	if sharded {
		return "SPUBLISH"
	}
	return "PUBLISH"
}

// Release ends a hold, whatever its count, and wakes the waiters.
func Release(a ReleaseArgs) *Call[ReleaseReply] {
	publish := publishBy(a.Sharded)
	if a.NoMessage {
		publish = ""
	}
	return PrepareRelease(a).call(a.ID, publish, a.WantNow)
}

// releaseNumbers is how many numbers a release returns.
const releaseNumbers = 3

func releaseReply(v []int64) (ReleaseReply, error) {
	if len(v) != releaseNumbers {
		return ReleaseReply{}, wrongLength(v, releaseNumbers)
	}
	status, err := released.of(v[0])
	return ReleaseReply{store.ReleaseReply{Status: status, Receivers: v[1]}, v[2]}, err
}

func decodeRelease(value any) (ReleaseReply, error) {
	r := newReader(value, 3)
	reply := ReleaseReply{store.ReleaseReply{Status: r.status(0, released), Receivers: r.int(1)}, r.int(2)}
	return reply, r.err
}
