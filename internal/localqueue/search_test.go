package localqueue

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var searched = flag.Int("search.waiters", 4, "how many waiters the searches have, at most 5; large ones have one less")

// fair is the mode of a fair lock.
type fair struct{}

func (fair) Mode() string         { return "f" }
func (fair) Excludes(string) bool { return true }
func (fair) Follows(string) bool  { return true }
func (fair) Inherits(string) bool { return true }

// scene is what calls come to one key.
type scene struct {
	breeds []breed
	large  bool // one waiter more makes ten times as many states
	most   int  // waiters, if that matters: one more makes a hundred times as many
}

func scenes() map[string]scene {
	exclusive := breed{name: "w", kind: side("w")}
	reader := breed{name: "r", kind: side("r")}
	try := func(b breed) breed {
		b.name, b.once = "try "+b.name, true
		return b
	}
	joiner := breed{name: "j", kind: side("r"), joins: true}
	permits := breed{name: "p", kind: permit{}, several: true}
	return map[string]scene{
		"exclusive":           {breeds: []breed{exclusive, try(exclusive)}},
		"sets":                {breeds: []breed{exclusive, {name: "set", kind: side("w"), set: true}}},
		"readers and writers": {breeds: []breed{exclusive, reader}},
		"tries of both":       {breeds: []breed{exclusive, try(reader), try(exclusive)}},
		"reads inside writes": {breeds: []breed{exclusive, {name: "inside", kind: side("r"), inside: true}}},
		"readers that join":   {breeds: []breed{exclusive, joiner, try(joiner)}, large: true},
		"readers that await":  {breeds: []breed{exclusive, joiner, reader}, large: true},
		"permits":             {breeds: []breed{permits, try(permits)}, large: true},
		"readers that ask together": {
			breeds: []breed{exclusive, {name: "r", kind: side("r"), several: true}}, large: true,
		},
		"fair": {breeds: []breed{{name: "f", kind: fair{}, alone: true, registers: true}}, most: 3},
	}
}

// Every order of the steps of a few calls is tried: of coming, asking, each answer, stepping back, passing,
// releasing, losing, registering, and of contexts that end at any time. In every state
// the rules of rules_test.go hold, and as long as a call has not ended some step can be taken that is not
// the end of a context. make test runs it without the race detector.
//
//	go test ./internal/localqueue -run Search -v -search.waiters 5
func TestLongSearchOfAQueue(t *testing.T) {
	for name, scene := range scenes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := *searched
			if scene.large {
				n--
			}
			if scene.most > 0 {
				n = min(n, scene.most)
			}
			t.Logf("%d states of %d calls", search(t, scene.breeds, n), n)
		})
	}
}

// search visits every state of n calls, which come as any of some breeds, and returns how many there are. States that
// behave the same are visited once.
func search(t *testing.T, breeds []breed, n int) int {
	for i := range breeds {
		breeds[i].number = i
	}
	type step struct { // how a state was come to
		from int
		name string
		i    int
	}
	type place struct {
		world *world
		at    int // in trail
	}
	start := &world{n: n}
	seen := map[fingerprint]bool{start.key(): true}
	trail, todo := []step{{}}, []place{{start, 0}}
	fail := func(at int, last string, err error) {
		path := []string{last}
		for ; at > 0; at = trail[at].from {
			path = append(path, fmt.Sprintf("%s (%d)", trail[at].name, trail[at].i))
		}
		slices.Reverse(path)
		require.NoError(t, err, strings.Join(path, ", "))
	}
	for len(todo) > 0 {
		here := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		stuck := !here.world.over()
		for _, m := range here.world.moves(breeds) {
			next := here.world.copy()
			err := m.do(next, m.i)
			next.tidy()
			if err == nil {
				err = next.broken(here.world)
			}
			if err != nil {
				fail(here.at, fmt.Sprintf("%s (%d)", m.name, m.i), err)
			}
			stuck = stuck && m.ends
			if key := next.key(); !seen[key] {
				seen[key] = true
				trail = append(trail, step{here.at, m.name, m.i})
				todo = append(todo, place{next, len(trail) - 1})
			}
		}
		if stuck {
			fail(here.at, "and then nothing", errStuck)
		}
	}
	return len(seen)
}
