package luacall

// PermitAdd changes the capacity by some, which may be below zero. The reply's Value is the capacity then. If no
// capacity was set, the status is Gone; of a copy of a call that was refused before, it may be Busy. If there would be
// less than none, or more than [MaxCount], [Capacity] extracts from the error what the capacity is.
func PermitAdd(p Permits, by int64, r Request) *Call[CountReply] {
	if err := check("permit_adjust", p.check(), r.check(), checkCount(by, -MaxCount, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return permitAdjust(p, by, 1, r)
}

// PermitCapacityIfAbsent sets the capacity if none was set. Otherwise the status is Busy. The reply's Value is
// the capacity then.
func PermitCapacityIfAbsent(p Permits, capacity int64, r Request) *Call[CountReply] {
	if err := check("permit_adjust", p.check(), r.check(), checkCount(capacity, 0, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return permitAdjust(p, capacity, 0, r)
}

var decodeAdjusted = countOf(append(statuses{Gone}, started...))

func permitAdjust(p Permits, n int64, relative int, r Request) *Call[CountReply] {
	return newCall(&permitAdjustScript, 3, decodeAdjusted,
		r.with([]any{p.Free, r.Key, p.Leases}, n, p.Channel, p.kind(), relative, int64(MaxCount), p.Unused)...)
}

// PermitLook reads how many permits are free, or how many there are in all. If no capacity was set, the status is
// Gone.
func PermitLook(p Permits, all bool) *Call[CountReply] {
	if err := check("permit_look", p.check()); err != nil {
		return refuse[CountReply](err)
	}
	which := 0
	if all {
		which = 1
	}
	return newCall(&permitLookScript, 2, decodeLook, p.Free, p.Leases, which)
}
