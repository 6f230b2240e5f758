package lua

// FairReleaseArgs says what [FairRelease] ends.
type FairReleaseArgs struct {
	ID       string
	Served   []string // waiters that the hold was passed on to: they have no place any more
	FenceTTL int64    // ms for which an unused token is kept at least; negative: for ever; 0: none is minted
	Sharded  bool     // publish by SPUBLISH
	WantNow  bool     // tell the server's time, also where the script does not need it
	Unsure   bool     // PUBLISH does not count those who listen at other nodes
}

// FairRelease ends a hold, whatever count stands, and grants the lock to the next waiter, for as long as an
// invitation stands; or takes a waiter out of the queue, and an invitation from it.
func FairRelease(f Fair, t FairTimes, a FairReleaseArgs) *Call[ReleaseReply] {
	err := check("fair release", f.check(), checkFairTimes(t), checkFairID(a.ID))
	if err == nil && a.FenceTTL != 0 {
		err = checkFenceTTL(a.FenceTTL)
	}
	if err != nil {
		return refuse[ReleaseReply](err)
	}
	wantNow, unsure := 0, 0
	if a.WantNow {
		wantNow = 1
	}
	if a.Unsure {
		unsure = 1
	}
	args := append(make([]any, 0, 21+len(a.Served)),
		f.Lock, f.Queue, f.Alive, f.State, f.JavaQueue, f.JavaTimes, f.Token,
		a.ID, f.Channel, f.Client, f.JavaChannel, publication(a.Sharded), wantNow,
		t.Step, t.Keep, t.Grant, t.Run, t.Pause, unsure, t.Life, a.FenceTTL)
	for _, id := range a.Served {
		args = append(args, id)
	}
	return newCall(&fairReleaseScript, 7, decodeRelease, args...)
}

// FairConfirmArgs says which grant [FairConfirm] makes a hold.
type FairConfirmArgs struct {
	ID    string
	Lease int64 // ms
	Fence int64 // the grant's token
}

// FairConfirm makes a grant that was told by a message a hold with a lease of its own. It is gone if the grant does not
// stand any more, even if the same waiter was granted the lock once more since.
func FairConfirm(f Fair, t FairTimes, a FairConfirmArgs) *Call[ConfirmReply] {
	err := check("fair confirm", f.check(), checkFairTimes(t), checkFairID(a.ID), checkTTL("lease", a.Lease))
	if err != nil {
		return refuse[ConfirmReply](err)
	}
	return newCall(&fairConfirmScript, 5, decodeFairConfirm,
		f.Lock, f.Token, f.Queue, f.Alive, f.State, a.ID, a.Lease, a.Fence, t.Life, t.Step, t.Keep)
}

func decodeFairConfirm(value any) (ConfirmReply, error) {
	r := newReader(value, 3)
	return ConfirmReply{Status: r.status(0, released), Now: r.int(1), Next: r.int(2)}, r.err
}
