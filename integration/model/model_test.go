package model

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rules by which fencing tokens are made over a quorum, as a small world whose states are searched
// exhaustively: three nodes with clocks of their own, and holds whose requests are under way for any time,
// or for ever, and whose replies may be lost. (A late reply changes nothing for anybody but the client,
// whose next request can be as late.) Wrong rules are here as well.

// rules are the right ones if every field is false.
type rules struct {
	confirmAnywhere bool // a node stores a token, and confirms it, though the hold does not stand there
	noConfirm       bool // the highest token that a quorum asked for is used at once
	anyOlder        bool // a node accepts a token that is behind its clock
	anyNewer        bool // a node accepts a token however far it is ahead of its clock
	anyStored       bool // a node accepts a token that is not above the stored one
	noGuard         bool // a restarted node votes at once
	plainStragglers bool // a grant that comes after the quorum counts without the token being stored

	blindRange  bool // a hold has the maximum number of tokens, whatever the nodes have stored
	anyFloor    bool // they begin above what one node of the quorum has stored, and not above what each has
	fromNothing bool // nor does it matter if nothing is stored
	copyHigher  bool // a copy is accepted if what is stored is not below its proposal
	copyEqual   bool // a copy is accepted if what is stored is its proposal
}

// setting says what may happen.
type setting struct {
	holds    int
	skews    [3]int8 // of the nodes' clocks
	end      int8    // the last tick
	wishes   []int8  // proposed tokens, relative to the tick
	restarts int8    // how often a node may forget everything
	mishaps  int8    // how often a reply may be lost, or a client give up
	anyNode  bool    // any node may forget; else only one beside which a quorum of members is left
	copies   bool    // a client that lost a reply sends its request again
}

const (
	modelGuard = 2 // ticks; leases are as long
	modelFirst = 1 // the clocks' first tick
	modelWidth = 3 // tokens of a hold, at most
)

// what a client knows of one node's grant, and of its confirmation
const (
	msgNone  int8 = iota
	msgSent       // the request is under way
	msgKnown      // the node did it, and the client knows
	msgDead       // it had no effect, or nobody knows
	msgAgain      // it was carried out, nobody knows, and a copy is under way
)

const (
	modelIdle int8 = iota
	modelAsking
	modelConfirming
	modelHeld
	modelOver
)

// world is one state; all of it is compared.
type world struct {
	now      int8
	newest   int8 // newest token of the last live hold
	restarts int8
	mishaps  int8
	nodes    [3]modelNode
	holds    [3]modelHold
}

type modelNode struct{ holder, stored, votes int8 }

type modelHold struct {
	phase, wish, start int8
	first, fence       int8 // its tokens
	at                 [3]modelSpot
}

type modelSpot struct {
	grant, offer int8 // offer: the accepted token, or the one asked for
	floor        int8 // from which on, below offer, no hold had a token as far as the node knows
	accepted     bool
	confirm      int8
}

// model explores.
type model struct {
	rules
	setting
	seen  map[world]bool
	queue []world
	wrong string // the first violation
}

func explore(r rules, s setting) *model {
	m := &model{rules: r, setting: s, seen: make(map[world]bool)}
	first := world{restarts: s.restarts, mishaps: s.mishaps}
	for i := range first.nodes {
		first.nodes[i].holder = -1
	}
	m.reach(first)
	for len(m.queue) > 0 && m.wrong == "" {
		w := m.queue[len(m.queue)-1]
		m.queue = m.queue[:len(m.queue)-1]
		m.steps(w)
	}
	return m
}

func (m *model) reach(w world) {
	for h := range w.holds {
		w.holds[h].forget()
	}
	for i := range w.nodes {
		if w.nodes[i].votes <= w.now {
			w.nodes[i].votes = 0
		}
	}
	if !m.seen[w] {
		m.seen[w] = true
		m.queue = append(m.queue, w)
	}
}

// forget drops what no longer matters, so that worlds that differ only in that become one.
func (h *modelHold) forget() {
	asked, confirming := false, false
	for i := range h.at {
		at := &h.at[i]
		if h.phase == modelOver && at.grant == msgKnown {
			at.grant = msgDead
		}
		if h.phase == modelOver && at.confirm != msgSent {
			at.confirm = msgDead
		}
		if h.phase != modelAsking {
			at.offer, at.floor, at.accepted = 0, 0, false
		}
		asked, confirming = asked || at.grant == msgSent || at.grant == msgAgain, confirming || at.confirm == msgSent
	}
	if !asked && h.phase != modelAsking {
		h.wish = 0
	}
	if h.phase == modelHeld {
		h.first = 0 // it has been compared
	}
	if h.phase == modelOver {
		h.start, h.first = 0, 0
		if !confirming {
			h.fence = 0
		}
	}
}

// steps visits every possible successor state.
func (m *model) steps(w world) {
	if w.now < m.end {
		m.tick(w)
	}
	for i := range w.nodes {
		m.restart(w, i)
		if h := w.nodes[i].holder; h >= 0 && w.holds[h].phase == modelOver {
			next := w // released, or expired
			next.nodes[i].holder = -1
			m.reach(next)
		}
	}
	for h := range m.holds {
		m.begin(w, h)
		next := w
		switch next.holds[h].phase {
		case modelIdle:
			continue
		case modelHeld: // it is unlocked
			next.holds[h].phase = modelOver
			m.reach(next)
		case modelAsking, modelConfirming: // it is given up
			if next.mishap() {
				next.holds[h].phase = modelOver
				m.reach(next)
			}
		}
		for i := range w.nodes {
			m.deliver(w, h, i)
		}
	}
}

// mishap reports that one more mishap may happen.
func (w *world) mishap() bool {
	w.mishaps--
	return w.mishaps >= 0
}

// tick lets time pass. A hold that was requested a lease ago is no longer live.
func (m *model) tick(w world) {
	w.now++
	for h := range w.holds {
		if p := w.holds[h].phase; p != modelIdle && w.now-w.holds[h].start >= modelGuard {
			w.holds[h].phase = modelOver
		}
	}
	m.reach(w)
}

// begin sends the requests of a hold, with any of the proposals.
func (m *model) begin(w world, h int) {
	if w.holds[h].phase != modelIdle || h > 0 && w.holds[h-1].phase == modelIdle {
		return
	}
	for _, ahead := range m.wishes {
		next := w
		hold := &next.holds[h]
		hold.phase, hold.start = modelAsking, w.now
		hold.wish = max(w.now+modelFirst+ahead, 0)
		for i := range hold.at {
			hold.at[i].grant = msgSent
		}
		m.reach(next)
	}
}

func (m *model) restart(w world, i int) {
	if w.restarts == 0 {
		return
	}
	if !m.anyNode && !w.membersBeside(i) {
		return
	}
	w.restarts--
	w.nodes[i] = modelNode{holder: -1, votes: w.now + modelGuard}
	if m.noGuard {
		w.nodes[i].votes = w.now
	}
	m.reach(w)
}

// membersBeside reports that the live hold stands on a quorum without node i.
func (w *world) membersBeside(i int) bool {
	for h := range w.holds {
		members := 0
		for k, at := range w.holds[h].at {
			if k != i && at.confirm == msgKnown {
				members++
			}
		}
		if w.holds[h].phase == modelHeld && members >= 2 {
			return true
		}
	}
	return false
}

// deliver makes a request arrive, with a reply that the client gets, or that is lost.
func (m *model) deliver(w world, h, i int) {
	if g := w.holds[h].at[i].grant; (g == msgSent || g == msgAgain) && w.now >= w.nodes[i].votes {
		m.grant(w, h, i)
	}
	if w.holds[h].at[i].confirm == msgSent {
		m.confirm(w, h, i)
	}
}

// grant is the script that acquires.
func (m *model) grant(w world, h, i int) {
	n, at := &w.nodes[i], &w.holds[h].at[i]
	at.grant = msgDead
	mine := n.holder == int8(h)
	if n.holder >= 0 && !mine {
		m.reach(w)
		return
	}
	clock, wish := w.now+modelFirst+m.skews[i], w.holds[h].wish
	n.holder = int8(h)
	newer := wish > n.stored || m.anyStored
	accepted := newer && (wish >= clock || m.anyOlder) && (wish <= clock+modelGuard/2 || m.anyNewer) ||
		mine && (m.copyHigher && wish <= n.stored || m.copyEqual && wish == n.stored)
	offer := max(n.stored+1, clock)
	if room := n.stored + modelWidth; n.stored > 0 && room <= clock+modelGuard/2 {
		offer = max(room, clock)
	}
	if accepted {
		offer = wish
	}
	floor := offer
	if n.stored > 0 || m.fromNothing {
		floor = min(offer, max(n.stored+1, offer-modelWidth+1))
	}
	if accepted && newer {
		n.stored = wish
	}
	if lost := w; lost.mishap() {
		m.reach(lost)
		if m.copies && !mine {
			lost.holds[h].at[i].grant = msgAgain
			m.reach(lost)
		}
	}
	at.offer, at.floor, at.accepted = offer, floor, accepted
	m.heard(w, h, i)
}

// heard is the client learning of a grant.
func (m *model) heard(w world, h, i int) {
	hold := &w.holds[h]
	hold.at[i].grant = msgKnown
	switch hold.phase {
	case modelAsking:
		m.weigh(&w, h)
	case modelConfirming, modelHeld:
		switch at := &hold.at[i]; {
		case at.accepted && at.offer >= hold.fence, m.plainStragglers && hold.phase == modelHeld:
			at.confirm = msgKnown
		default:
			at.confirm = msgSent
		}
		m.settle(&w, h)
	}
	m.reach(w)
}

// weigh checks whether there is a quorum, and whether one round was enough.
func (m *model) weigh(w *world, h int) {
	hold := &w.holds[h]
	grants, highest, floor, lowest := 0, int8(0), int8(0), int8(math.MaxInt8)
	for _, at := range hold.at {
		if at.grant == msgKnown {
			grants, highest = grants+1, max(highest, at.offer)
			floor, lowest = max(floor, at.floor), min(lowest, at.floor)
		}
	}
	if grants < 2 {
		return
	}
	hold.phase, hold.fence = modelConfirming, highest
	switch least := highest - modelWidth + 1; {
	case m.blindRange:
		hold.first = least
	case m.anyFloor:
		hold.first = max(lowest, least)
	default:
		hold.first = max(floor, least)
	}
	for i := range hold.at {
		switch at := &hold.at[i]; {
		case at.grant != msgKnown:
		case at.accepted && at.offer == hold.fence, m.noConfirm:
			at.confirm = msgKnown
		default:
			at.confirm = msgSent
		}
		if m.confirmAnywhere && hold.at[i].confirm == msgNone {
			hold.at[i].confirm = msgSent
		}
	}
	m.settle(w, h)
}

// confirm is the script that stores the token of a hold.
func (m *model) confirm(w world, h, i int) {
	at, n := &w.holds[h].at[i], &w.nodes[i]
	at.confirm = msgDead
	done := n.holder == int8(h) || m.confirmAnywhere
	if done {
		n.stored = max(n.stored, w.holds[h].fence)
	}
	if lost := w; !done || lost.mishap() {
		if !done {
			lost = w
		}
		m.reach(lost)
	}
	if done {
		at.confirm = msgKnown
		m.settle(&w, h)
		m.reach(w)
	}
}

// settle makes the hold live, and checks whether that is allowed.
func (m *model) settle(w *world, h int) {
	hold, members := &w.holds[h], 0
	for _, at := range hold.at {
		if at.confirm == msgKnown {
			members++
		}
	}
	if hold.phase != modelConfirming || members < 2 {
		return
	}
	hold.phase = modelHeld
	if hold.first <= w.newest {
		m.wrong = fmt.Sprintf("tokens %d to %d after %d: %+v", hold.first, hold.fence, w.newest, *w)
	}
	for other := range w.holds {
		if other != h && w.holds[other].phase == modelHeld {
			m.wrong = fmt.Sprintf("two hold at the same time: %+v", *w)
		}
	}
	w.newest = hold.fence
}

// The settings: many holds at once, with a fast clock; a node that forgets everything, with clocks that
// differ by less than the guard time; requests that are sent again; and a node that forgets and comes back
// with a clock far behind, which does no harm while a quorum of the others has stored the token.
var (
	crowded   = setting{holds: 3, skews: [3]int8{0, 6, 0}, wishes: []int8{1}}
	clumsy    = setting{holds: 2, skews: [3]int8{0, 6, 0}, wishes: []int8{-5, 1, 7}, mishaps: 2}
	forgetful = setting{
		holds: 2, skews: [3]int8{0, 1, 0}, end: 2, wishes: []int8{-1, 1, 7}, restarts: 1, anyNode: true,
	}
	resent = setting{
		holds: 2, skews: [3]int8{0, 6, 0}, wishes: []int8{-5, 1, 7}, mishaps: 2, copies: true,
	}
	behind = setting{holds: 2, skews: [3]int8{0, 6, 0}, end: 2, wishes: []int8{-5}, mishaps: 1, restarts: 1}
)

func TestModelOfTheTokens(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]setting{
		"crowded": crowded, "clumsy": clumsy, "forgetful": forgetful, "behind": behind, "resent": resent,
	} {
		t.Run(name, func(t *testing.T) {
			m := explore(rules{}, s)
			require.Empty(t, m.wrong)
			t.Logf("%d states", len(m.seen))
			require.Greater(t, len(m.seen), 1000, "hardly anything happened")
		})
	}
}

// Interleaving 10 and similar ones: each of these rules is wrong but plausible.
func TestModelOfTheTokensFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules
		setting
	}{
		"confirmed where the hold does not stand": {rules{confirmAnywhere: true}, crowded},
		"valid without a confirmation":            {rules{noConfirm: true}, crowded},
		"accepted though it is not above":         {rules{anyStored: true}, crowded},
		"accepted behind the clock":               {rules{anyOlder: true}, forgetful},
		"accepted far ahead of the clock":         {rules{anyNewer: true}, forgetful},
		"a vote right after a restart":            {rules{noGuard: true}, forgetful},
		"a straggler that counts at once":         {rules{plainStragglers: true}, behind},
		"tokens below what is stored":             {rules{blindRange: true}, clumsy},
		"tokens below what one node stored":       {rules{anyFloor: true}, clumsy},
		"tokens below where nothing is stored":    {rules{fromNothing: true}, forgetful},
		"a copy accepted below what is stored":    {rules{copyHigher: true}, resent},
		"a copy accepted at what is stored":       {rules{copyEqual: true}, resent},
	} {
		t.Run(name, func(t *testing.T) {
			m := explore(c.rules, c.setting)
			t.Logf("%d states: %s", len(m.seen), m.wrong)
			require.NotEmpty(t, m.wrong)
		})
	}
}
