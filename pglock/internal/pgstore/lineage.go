package pgstore

import "time"

// lineage is which server answered, as far as it is known: "" and 0 are not known.
type lineage struct {
	timeline string // of the last answer
	system   string // the cluster's identifier, of the last connection that was proved
	wal      int64  // how far the log was at most, in bytes, as connections were proved

	// trusted is the timeline on which the ends of leases are times of the server's own clock: all rows on it were
	// written by that server, or long ago. It is that of the last answer, or, for a lease after another server was
	// first heard of, the one before.
	trusted string
	since   time.Duration // when another server was first heard of; 0: there was one only
}

// distrusted is what no timeline is called.
const distrusted = "none"

// observe takes in what an answer told of the server, at an instant.
func (o *lineage) observe(timeline string, now time.Duration) (replaced bool) {
	replaced = o.timeline != "" && o.timeline != timeline
	switch {
	case replaced:
		o.wal = 0 // what was promoted may have less
		o.since = max(now, 1)
	case o.timeline == "":
		o.trusted = timeline
	}
	o.timeline = timeline
	return replaced
}

// recognise takes in what a new connection was told, at an instant. Floor is how far the log was at least when that was
// asked.
func (o *lineage) recognise(system string, wal, floor int64, now time.Duration) (replaced bool) {
	if system == "" || wal == 0 {
		return false
	}
	replaced = o.system != "" && (o.system != system || o.wal >= floor && wal < floor)
	if o.system = system; replaced {
		o.wal = wal
		o.trusted, o.since = distrusted, max(now, 1)
	}
	o.wal = max(o.wal, wal)
	return replaced
}

// trusts is the timeline on which a lease has ended when its time has come by the server's clock. What was written on
// another one was written by another clock, which may have been behind: there a hold that was not released may stand.
// It has ended a lease after the new server was first heard of. "" is any: nothing is known yet.
func (o *lineage) trusts(now, lease time.Duration) string {
	if o.since > 0 && o.settled(now, lease) {
		return o.timeline
	}
	return o.trusted
}

// settled reports that no other server was heard of for a lease. Then each connection that was proved leads to a server
// whose timeline is trusted: a server that can be written to stays on its timeline for as long as its sessions last.
// That is not so of a pooler's connections.
func (o *lineage) settled(now, lease time.Duration) bool {
	return o.since == 0 || now-o.since >= lease
}
