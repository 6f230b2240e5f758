package luacall

// FairReleaseArgs says what [FairRelease] ends.
type FairReleaseArgs struct {
	ID      string
	Served  []string // waiters that the hold was passed on to: they have no place any more
	Sharded bool     // publish by SPUBLISH
	WantNow bool     // tell the server's time, also where the script does not need it
	Unsure  bool     // PUBLISH does not count those who listen at other nodes
}

// FairRelease ends a hold, whatever count stands, and invites the next waiter; or takes a waiter out of the queue, and
// an invitation from it.
func FairRelease(f Fair, t FairTimes, a FairReleaseArgs) *Call[ReleaseReply] {
	if err := check("fair release", f.check(), checkFairTimes(t), checkFairID(a.ID)); err != nil {
		return refuse[ReleaseReply](err)
	}
	wantNow, unsure := 0, 0
	if a.WantNow {
		wantNow = 1
	}
	if a.Unsure {
		unsure = 1
	}
	args := append(make([]any, 0, 18+len(a.Served)),
		f.Lock, f.Queue, f.Alive, f.State, f.JavaQueue, f.JavaTimes,
		a.ID, f.Channel, f.Client, f.JavaChannel, publication(a.Sharded), wantNow,
		t.Step, t.Unused, t.Grant, t.Run, t.Pause, unsure)
	for _, id := range a.Served {
		args = append(args, id)
	}
	return newCall(&fairReleaseScript, 6, decodeRelease, args...)
}
