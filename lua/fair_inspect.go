package lua

import "fmt"

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
	values, ok := value.([]any)
	if !ok || len(values) != 6 {
		return InspectReply{}, fmt.Errorf("lua: a reply of 6 values was expected, not %v", value)
	}
	reply, err := decodeInspect(values[:4])
	if err != nil {
		return reply, err
	}
	waiters, ok := values[4].([]any)
	if !ok || len(waiters)%2 != 0 {
		return reply, fmt.Errorf("lua: ids and tickets were expected, not %v", values[4])
	}
	r := reader{values: values}
	reply.QueueMore = r.int(5)
	r.values = waiters
	for i := 0; i < len(waiters); i += 2 {
		id, _ := waiters[i].(string)
		reply.Queue = append(reply.Queue, Queued{ID: id, Since: r.int(i + 1)})
	}
	return reply, r.err
}
