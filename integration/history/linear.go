package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Linearized says what Porcupine (https://github.com/anishathalye/porcupine), a checker that knows nothing of this
// project, found of a history: whether the holds of each name are those of one lock that gives out growing tokens.
type Linearized struct {
	Names      int
	Operations int // acquisitions and releases
}

// linearPart is how many holds are judged at a time, and half of them once more with those after them. Porcupine
// remembers every state that it was in, each with a bit for every operation, so a hundred thousand holds would take all
// memory. To leave out whole holds makes no wrong history of a right one; and two holds that contradict each other are
// near each other.
const linearPart = 4000

// linearLimit bounds the search of a part. A history of whole holds, of which few are under way at a time, takes
// moments.
const linearLimit = 5 * time.Minute

// Linearize has Porcupine judge the holds of every name of which the store lost nothing: what it lost may overlap, and
// only the bounds know how.
//
// An acquisition is an operation from the call to its return. The release comes at the moment at which the hold was
// live for the last time. (It may have come later, but the next acquisition has to come after that moment in any case.)
// A hold of which its owner learned when it was over may have been released at any time since it was asked for.
func (b Bounds) Linearize(holds []Hold) (found Linearized, err error) {
	for name, of := range byName(holds) {
		lost := func(l Loss) bool { return l.Name == "" || l.Name == name }
		if name == permitsName || slices.ContainsFunc(b.Losses, lost) {
			continue
		}
		found.Names++
		found.Operations += len(operationsOf(of))
		for from := 0; from == 0 || from+linearPart/2 < len(of); from += linearPart / 2 {
			if err := linearizePart(name, of[from:min(from+linearPart, len(of))]); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

func linearizePart(name string, holds []Hold) error {
	switch porcupine.CheckOperationsTimeout(tokenLock, operationsOf(holds), linearLimit) {
	case porcupine.Illegal:
		return fmt.Errorf("porcupine: the holds of %q, from %v on, are those of no lock with growing tokens", name,
			holds[0].Start)
	case porcupine.Unknown:
		return fmt.Errorf("porcupine: nothing was found out about the holds of %q, from %v on, within %v", name,
			holds[0].Start, linearLimit)
	}
	return nil
}

// step is what an operation does with a lock: take it with a token, or give it back.
type step struct {
	release  bool
	shared   bool // with other readers
	imported bool // it goes on with the token of the hold that was exported
	fence    int64
}

// holding is the state of a lock.
type holding struct {
	held    bool
	bare    bool // without a token
	readers int
	fence   int64 // the last token that was given out
}

// tokenLock is a lock that has one holder at a time, or readers, and gives each holder a greater token than any before.
// Readers share the token of the last writer, or have a new one. Redisson's readers and writers have no token.
var tokenLock = porcupine.Model{
	Init: func() any { return holding{} },
	Step: func(state, input, _ any) (bool, any) {
		now, does := state.(holding), input.(step)
		free := !now.held && now.readers == 0
		switch {
		case does.release && does.shared:
			return now.readers > 0, holding{readers: now.readers - 1, fence: now.fence}
		case does.release && does.fence == noToken:
			return now.held && now.bare, holding{fence: now.fence}
		case does.release:
			return now.held && !now.bare && now.fence == does.fence, holding{fence: now.fence}
		case does.shared && does.fence == noToken:
			return !now.held, holding{readers: now.readers + 1, fence: now.fence}
		case does.shared:
			return !now.held && now.fence <= does.fence, holding{readers: now.readers + 1, fence: does.fence}
		case does.fence == noToken:
			return free, holding{held: true, bare: true, fence: now.fence}
		case does.imported:
			return free && now.fence <= does.fence, holding{held: true, fence: does.fence}
		default:
			return free && now.fence < does.fence, holding{held: true, fence: does.fence}
		}
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

func operationsOf(holds []Hold) []porcupine.Operation {
	clients := make(map[string]int)
	var all []porcupine.Operation
	add := func(client string, does step, from, to time.Duration) {
		id, known := clients[client]
		if !known {
			id = len(clients)
			clients[client] = id
		}
		all = append(all, porcupine.Operation{
			ClientId: id, Input: does, Call: int64(from), Return: int64(to),
		})
	}
	for _, h := range holds {
		over := h.End
		if !h.everLive() {
			over = h.Called
		}
		shared := h.Mode == modeRead
		add(h.Client, step{shared: shared, imported: h.From != "", fence: h.Fence}, h.Called, h.Start)
		add(h.Client, step{shared: shared, release: true, fence: h.Fence}, over, max(over, h.Start))
	}
	slices.SortStableFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return all
}
