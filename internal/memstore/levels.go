package memstore

import "github.com/holdfast-go/holdfast/internal/store"

// levels are how many levels a hold has, and the number of the step that said so.
type levels struct{ count, op int64 }

// firstLevel is what every hold begins with.
var firstLevel = levels{count: 1}

// step writes a count by an operation number that is higher than the last; a copy has the same one.
func (l *levels) step(step store.Step) store.Status {
	if l.op >= step.Op {
		return store.Already
	}
	l.count, l.op = step.Count, step.Op
	return store.Done
}
