package scenario

import (
	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// hot is many goroutines that want one lock, in one process and in eight.
func hot() []Scenario {
	columns := []Column{
		{measure.Rate, "turns/s"}, {measure.P50, "wait p50 µs"}, {measure.P99, "wait p99 µs"},
		{measure.Max, "max µs"}, {measure.TurnRatio, "most/fewest turns"},
		{measure.Sends, "sends"}, {measure.Commands, "redis calls"}, {measure.RedisCPU, "redis µs"},
	}
	all := append([]string{contender.Ours}, peers...)
	others := withJava(peers)
	ours := contender.Ours
	return []Scenario{
		{
			ID: "hot1x64", Title: "64 goroutines of one process, one name",
			Contenders: all, Columns: columns, Far: true, Rounds: 3,
			Open: func(lab *Lab) (Subject, error) { return openLoad(lab, 1, 64, "hot") },
			Java: func(lab *Lab) (Subject, error) { return openJava(lab, 1, 64, "lock", "hot") },
			Goals: []Goal{
				{Figure: measure.Rate, Of: ours, To: others, AtLeast: 40},
				{Figure: measure.TurnRatio, Of: ours, AtMost: 1.2},
			},
		},
		{
			ID: "hot8x8", Title: "64 goroutines over 8 clients, one name",
			Contenders: all, Far: true, Rounds: 3,
			Columns: append(append([]Column{}, columns...),
				Column{clientTurnRatio, "most/fewest by client"},
				Column{measure.Absence, "a client's longest wait µs"}),
			Open: func(lab *Lab) (Subject, error) { return openLoad(lab, 8, 64, "hot") },
			Java: func(lab *Lab) (Subject, error) { return openJava(lab, 8, 64, "lock", "hot") },
			Goals: []Goal{
				{Figure: measure.Rate, Of: ours, To: others, AtLeast: 40},
				{Figure: clientTurnRatio, Of: ours, AtMost: 2},
				{Figure: measure.Absence, Of: ours, AtMost: 250_000},
			},
		},
	}
}
