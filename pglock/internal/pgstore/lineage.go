package pgstore

// lineage is which server answered, as far as it is known: "" and 0 are not known.
type lineage struct {
	timeline string // of the last answer
	system   string // the cluster's identifier, of the last connection that was proved
	wal      int64  // how far the log was at most, in bytes, as connections were proved
}

// observe takes in what an answer told of the server.
func (o *lineage) observe(timeline string) (replaced bool) {
	replaced = o.timeline != "" && o.timeline != timeline
	if o.timeline = timeline; replaced {
		o.wal = 0 // what was promoted may have less
	}
	return replaced
}

// recognise takes in what a new connection was told. Floor is how far the log was at least when that was asked.
func (o *lineage) recognise(system string, wal, floor int64) (replaced bool) {
	if system == "" || wal == 0 {
		return false
	}
	replaced = o.system != "" && (o.system != system || o.wal >= floor && wal < floor)
	if o.system = system; replaced {
		o.wal = wal
	}
	o.wal = max(o.wal, wal)
	return replaced
}
