package scenario

import (
	"context"
	"fmt"
	"io"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// Size is the figure that says how large a growing situation was.
const Size = "size"

// Growth is a situation that is measured at several sizes.
type Growth struct {
	ID, Title  string
	Axis       string // what grows
	Sizes      []int
	Contenders []string
	Servers    func(size int) int // nil: one
	Columns    []Column           // the first ones are drawn
	Drawn      int                // how many
	LogY       bool

	Open func(lab *Lab, size int) (Subject, error)
}

// Growths are the curves of SCALING.md.
func Growths() []Growth {
	several := []string{contender.Ours, contender.Bsm, contender.Rueidis}
	load := []Column{
		{measure.Rate, "pairs/s"}, {measure.Sends, "sends"}, {measure.RedisCPU, "redis µs"},
		{measure.ClientCPU, "client µs"}, {measure.RedisLoad, "redis core %"},
		{measure.OwnLoad, "client core %"}, {measure.RedisCarries, "a redis carries/s"},
		{measure.ClientCarries, "a client core carries/s"}, {measure.P99, "lock p99 µs"},
	}
	turns := []Column{
		{measure.Rate, "turns/s"}, {measure.Scripts, "scripts/turn"}, {measure.Commands, "redis calls/turn"},
		{measure.RedisCPU, "redis µs"}, {measure.RedisCarries, "a redis carries/s"},
		{measure.P99, "wait p99 µs"}, {measure.TurnRatio, "most/fewest turns"},
	}
	return []Growth{
		{
			ID: "names", Title: "Goroutines with a name each, one process", Axis: "names",
			Sizes: []int{1, 4, 16, 64, 256, 1024}, Contenders: several, Columns: load, Drawn: 1,
			Open: func(lab *Lab, n int) (Subject, error) { return openLoad(lab, 1, n, "") },
		},
		{
			ID: "clients", Title: "Processes with 16 goroutines, a name each", Axis: "processes",
			Sizes: []int{1, 2, 4, 8, 16}, Contenders: several[:1], Columns: load, Drawn: 1,
			Open: func(lab *Lab, n int) (Subject, error) { return openLoad(lab, n, 16*n, "") },
		},
		{
			ID: "waiters", Title: "Goroutines of one process on one name", Axis: "goroutines",
			Sizes: []int{1, 4, 16, 64, 256, 1024}, Contenders: several, Columns: turns, Drawn: 2, LogY: true,
			Open: func(lab *Lab, n int) (Subject, error) { return openLoad(lab, 1, n, "hot") },
		},
		{
			ID: "processes", Title: "Processes with 16 goroutines on one name", Axis: "processes",
			Sizes: []int{1, 2, 4, 8, 16, 32}, Contenders: several, Columns: turns, Drawn: 2, LogY: true,
			Open: func(lab *Lab, n int) (Subject, error) { return openLoad(lab, n, 16*n, "hot") },
		},
		{
			ID: "holds", Title: fmt.Sprintf("Locks held by one process, lease %v", heldLease), Axis: "locks",
			Sizes: []int{1_000, 4_000, 16_000, 64_000}, Contenders: several[:1],
			Columns: []Column{
				{measure.RedisLoad, "redis core %"}, {measure.OwnLoad, "client core %"},
				{heldScripts, "scripts/s"}, {heldCommands, "redis calls/s"}, {heldBytes, "bytes/lock"},
			}, Drawn: 2,
			Open: func(lab *Lab, n int) (Subject, error) { return &holding{lab: lab, locks: n}, nil },
		},
		{
			ID: "nodes", Title: "Redlock over nodes, one goroutine", Axis: "nodes",
			Sizes: []int{1, 3, 5, 7}, Servers: func(n int) int { return n },
			Contenders: []string{contender.OursRed, contender.Redsync},
			Columns: []Column{
				{measure.PairP50, "pair p50 µs"}, {measure.PairP99, "pair p99 µs"}, {measure.Sends, "sends"},
				{measure.RedisCPU, "redis µs, all"}, {measure.ClientCPU, "client µs"},
			}, Drawn: 1,
			Open: func(lab *Lab, _ int) (Subject, error) { return openSingle(lab, "council") },
		},
	}
}

func openSingle(lab *Lab, name string) (Subject, error) {
	client, err := lab.Client(0)
	if err != nil {
		return nil, err
	}
	return &single{lab: lab, client: client, lock: client.Lock(name)}, nil
}

// Grow measures all sizes, in rounds, with servers of its own for every size.
func Grow(ctx context.Context, g Growth, scale Scale, progress io.Writer) (samples []Sample, err error) {
	sizes := g.Sizes
	if scale.Quick {
		sizes = sizes[:2]
	}
	for _, size := range sizes {
		fmt.Fprintf(progress, "%s: %d %s\n", g.ID, size, g.Axis)
		some, err := g.at(ctx, size, scale)
		if err != nil {
			return nil, fmt.Errorf("%s: %d %s: %w", g.ID, size, g.Axis, err)
		}
		samples = append(samples, some...)
	}
	return samples, nil
}

func (g Growth) at(ctx context.Context, size int, scale Scale) (samples []Sample, err error) {
	s := Scenario{
		ID: g.ID, Contenders: g.Contenders, Servers: 1, Rounds: 2,
		Open: func(lab *Lab) (Subject, error) { return g.Open(lab, size) },
	}
	if g.Servers != nil {
		s.Servers = g.Servers(size)
	}
	if g.ID == "holds" {
		s.Rounds = 1
	}
	samples, err = Run(ctx, s, Setting{Scale: scale}, io.Discard)
	for i := range samples {
		samples[i].Figures[Size] = float64(size)
	}
	return samples, err
}

// At are the samples of one size.
func At(samples []Sample, size int) []Sample {
	var some []Sample
	for _, s := range samples {
		if s.Figures[Size] == float64(size) {
			some = append(some, s)
		}
	}
	return some
}
