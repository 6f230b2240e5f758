package engine

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var searched = flag.Int("search.more", 0, "by how many Lock calls the searches of a Key have more than usual")

// breed is what a Lock call of a search may be.
type breed struct {
	name string
	mode string
	once bool // it tries, and does not wait
	join bool // it joins a grant of its process
	keep bool // its grant may stay with the process
}

// plot is what may happen to a Key in a search.
type plot struct {
	breeds []breed
	calls  int

	lost    bool // a grant may be lost, once: somebody deletes it, or its time is over
	silent  bool // a request may have no answer, once
	heard   bool // another process may publish a message, once
	foreign bool // another process may have the lock, once
	closes  bool // the client may be closed
	kept    bool // the lock may stay with the process
	wanted  bool // others may want what is kept
	late    bool // a want takes time
	old     bool // a second may pass, once

	long bool // it takes minutes under the race detector, and seconds without
}

func plots() map[string]plot {
	writer, reader := breed{name: "w", mode: "w"}, breed{name: "r", mode: "r"}
	joiner := breed{name: "j", mode: "r", join: true}
	try := breed{name: "try", mode: "w", once: true}
	keeper := breed{name: "k", mode: "w", keep: true}
	keptTry := breed{name: "ktry", mode: "w", keep: true, once: true}
	return map[string]plot{
		"passing":            {breeds: []breed{writer}, calls: 3},
		"losses":             {breeds: []breed{writer}, calls: 2, lost: true},
		"another process":    {breeds: []breed{writer, try}, calls: 2, heard: true, foreign: true, long: true},
		"silence":            {breeds: []breed{writer}, calls: 2, silent: true},
		"tries":              {breeds: []breed{writer, try}, calls: 2, lost: true, long: true},
		"tries in silence":   {breeds: []breed{writer, try}, calls: 2, silent: true},
		"messages":           {breeds: []breed{writer}, calls: 3, heard: true, long: true},
		"readers":            {breeds: []breed{writer, reader}, calls: 2},
		"readers that join":  {breeds: []breed{writer, joiner}, calls: 2, foreign: true, long: true},
		"joining and losses": {breeds: []breed{joiner}, calls: 2, lost: true, long: true},
		"joining in silence": {breeds: []breed{joiner}, calls: 2, silent: true},
		"close":              {breeds: []breed{writer}, calls: 2, closes: true},
		"close and readers":  {breeds: []breed{joiner}, calls: 2, closes: true},
		"wanted":             {breeds: []breed{keeper}, calls: 2, kept: true, wanted: true, late: true, long: true},
		"wanted, and plain":  {breeds: []breed{keeper, writer}, calls: 2, kept: true, wanted: true, long: true},
		"wanted, and tries":  {breeds: []breed{keptTry, try}, calls: 2, kept: true, wanted: true, long: true},
		"wanted in silence":  {breeds: []breed{keeper}, calls: 2, kept: true, wanted: true, silent: true, long: true},
		"wanted and closed":  {breeds: []breed{keeper, try}, calls: 2, kept: true, wanted: true, closes: true, long: true},
		"kept for long":      {breeds: []breed{keeper}, calls: 2, kept: true, old: true, heard: true},
		"kept and lost":      {breeds: []breed{keeper}, calls: 2, kept: true, lost: true, long: true},
	}
}

// Every order of the steps of a few calls of one name is tried, on a Key with its grants, Holds, levels and contexts:
// of coming, asking, each answer, no answer, passing on, joining, unlocking, releasing, losing, a message that may mean
// a loss, contexts that end at any time, and Close. The steps are the functions of which Lock, Unlock and Close consist.
// Where the lock may stay with the process there are also wants, which come early, late, twice or never, the recall
// and its release, and the time for which a grant may be idle (see world_kept_test.go).
//
// In every state no two contexts that exclude one another say that they hold, tokens grow, and a call that has not
// ended can take a step that is not the end of a context. When all calls have ended nothing is left: no Key, and nothing
// in the store that nobody looks after.
//
//	go test ./internal/engine -run SearchOfAKey -v -search.more 1
func TestSearchOfAKey(t *testing.T) { searchKeys(t, false) }

// The same with more that may happen, which make test runs without the race detector.
func TestLongSearchOfAKey(t *testing.T) { searchKeys(t, true) }

func searchKeys(t *testing.T, long bool) {
	for name, plot := range plots() {
		if plot.long != long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plot.calls += *searched
			synctest.Test(t, func(t *testing.T) {
				t.Logf("%d states of %d calls", searchKey(t, plot), plot.calls)
			})
		})
	}
}

// searchKey visits every state of a plot once, and returns how many there are. A state is come to by doing the steps
// that lead there once more, since a Key with its contexts cannot be copied.
func searchKey(t *testing.T, p plot) int {
	stage := newStage(t)
	defer stage.close()
	// reach does the steps of a path, of which only the last one is new.
	reach := func(path []byte) *world {
		s := stage.begin(p)
		names := make([]string, 0, len(path))
		for _, n := range path {
			m := s.moves()[n]
			names = append(names, m.name)
			err := m.do()
			synctest.Wait()
			if err == nil {
				err = s.broken()
			}
			s.tidy()
			if err == nil && n == path[len(path)-1] && !s.over() && !canGoOn(s.moves()) {
				err = errStuck
			}
			if err != nil {
				s.end()
				require.NoError(t, err, strings.Join(names, ", "))
			}
		}
		return s
	}
	start := reach(nil)
	seen := map[string]bool{start.print(): true}
	type place struct {
		path  []byte
		moves int
	}
	todo := []place{{nil, len(start.moves())}}
	start.end()
	for len(todo) > 0 {
		here := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for n := range here.moves {
			path := append(append([]byte(nil), here.path...), byte(n))
			next := reach(path)
			if key := next.print(); !seen[key] {
				seen[key] = true
				todo = append(todo, place{path, len(next.moves())})
			}
			next.end()
		}
	}
	return len(seen)
}

var errStuck = errors.New("and then nothing: a call waits that nobody wakes")

func canGoOn(moves []move) bool {
	for _, m := range moves {
		if !m.ends {
			return true
		}
	}
	return false
}

// stage is the engine of a search, whose store does what the search says. Each state is played under a name of its own.
// A client is closed with its states: then each has an engine of its own.
type stage struct {
	t      *testing.T
	engine *Engine
	store  *playedStore
	names  int
}

func newStage(t *testing.T) *stage {
	st := &stage{t: t}
	st.open()
	return st
}

func (st *stage) open() {
	st.store = &playedStore{}
	none := func(text string) error { return errors.New(text) }
	st.engine = New(Config{
		Store: st.store, ClientID: "c", Lease: floorLease, MaxPoll: time.Minute, ReleaseTimeout: time.Minute,
		MaxKept: 1,
		Errors: Errors{
			Busy: none("busy"), NotHeld: none("not held"), Released: none("released"), Closed: none("closed"),
			Unavailable: none("unavailable"), Lost: lostWord, Release: releaseWord,
		},
		Logger: quietLogger(),
	})
	st.engine.trip.Store(int64(time.Millisecond))
}

// close ends the engine, unless the world that was played last has done so.
func (st *stage) close() {
	if !st.engine.Closed() {
		st.engine.Close()
	}
}

// begin is a world without calls.
func (st *stage) begin(p plot) *world {
	if st.engine.Closed() {
		st.open()
	}
	st.names++
	m := &stored{stands: make(map[string]string), copies: make(map[string]string), spare: 1}
	if p.kept {
		m.slow, m.spare = true, 2
	}
	st.store.play(m)
	s := &world{plot: p, engine: st.engine, store: m, key: fmt.Sprintf("k%d", st.names)}
	s.told = make(map[string]bool)
	for range p.calls {
		s.calls = append(s.calls, &actor{})
	}
	return s
}

// end leaves nothing of a world behind.
func (s *world) end() {
	for _, a := range s.calls {
		if a.cancel != nil {
			a.cancel()
		}
	}
	s.store.answerAll()
	if s.engine.Closed() {
		s.engine.finish(s.orphans, s.engine.clock.Now())
		return
	}
	for _, g := range s.grants() {
		s.engine.watchdog.Stop(&g.Lease)
		g.key.drop(g)
	}
	s.engine.table.keys[0].Delete(s.key)
	s.keepAgain()
}
