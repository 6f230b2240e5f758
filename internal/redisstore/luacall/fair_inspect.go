package luacall

var fairInspectScript = newScript("fair_inspect")

// FairInspect tells who holds the lock and who waits for it, of very many those who come next. One who is invited
// is a holder whose count is 0.
func FairInspect(f Fair, t FairTimes, sharded bool) *Call[InspectReply] {
	if err := check("fair inspect", f.check(), checkFairTimes(t)); err != nil {
		return refuse[InspectReply](err)
	}
	count := "NUMSUB"
	if sharded {
		count = "SHARDNUMSUB"
	}
	return newCall(&fairInspectScript, 5, decodeFairInspect,
		f.Lock, f.Token, f.Queue, f.Alive, f.State, f.Channel, count, t.Step, MaxInspected)
}

func decodeFairInspect(value any) (InspectReply, error) {
	r := newReader(value, 6)
	reply, err := decodeInspect(r.values[:4])
	reply.QueueMore = r.int(5)
	waiters := r.list(4, 2) // ids and tickets
	for i := 0; i < len(waiters.values); i += 2 {
		reply.Queue = append(reply.Queue, Queued{ID: waiters.text(i), Since: waiters.int(i + 1)})
	}
	r.fail(err)
	r.fail(waiters.err)
	return reply, r.err
}
