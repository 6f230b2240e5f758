package scenario

import (
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// sectionShare is for how much of the time somebody did what the lock is for: turns/s by 1/section.
const sectionShare = "section_share"

// sections is a hot name whose holders have something to do: a turn costs that, and no round trip.
func sections() []Scenario {
	columns := []Column{
		{measure.Rate, "turns/s"}, {sectionShare, "of 1/section"}, {measure.P50, "wait p50 µs"},
		{measure.P99, "wait p99 µs"}, {measure.Absence, "a client's longest wait µs"}, {measure.Sends, "sends"},
	}
	who := map[int]string{1: "64 goroutines of one process", 8: "64 goroutines over 8 clients"}
	var scenarios []Scenario
	for _, section := range []time.Duration{200 * time.Microsecond, 5 * time.Millisecond} {
		for _, clients := range []int{1, 8} {
			scenarios = append(scenarios, Scenario{
				ID:         fmt.Sprintf("section%dx%d-%v", clients, 64/clients, section.Microseconds()),
				Title:      fmt.Sprintf("Sections of %v: %s, one name", section, who[clients]),
				Contenders: append([]string{contender.Ours}, peers...), Columns: columns, Rounds: 2,
				Goals: []Goal{{Figure: measure.Rate, Of: contender.Ours, To: peers, AtLeast: 1}},
				Open: func(lab *Lab) (Subject, error) {
					subject, err := openLoad(lab, clients, 64, "section")
					if err != nil {
						return nil, err
					}
					subject.(*load).section = section
					return subject, nil
				},
			})
		}
	}
	return scenarios
}

// fair is the fair lock beside the plain one in one process, and beside the peers in eight.
func fair() []Scenario {
	columns := []Column{
		{measure.Rate, "turns/s"}, {measure.P50, "wait p50 µs"}, {measure.P99, "wait p99 µs"},
		{measure.Sends, "sends"},
	}
	return []Scenario{
		{
			ID: "fair1x64", Title: "64 goroutines of one process, one name, fair lock and plain lock",
			Contenders: []string{contender.OursFair, contender.Ours}, Rounds: 3, Far: true,
			Columns: append(append([]Column{}, columns...), Column{measure.TurnRatio, "most/fewest turns"}),
			Goals:   []Goal{{Figure: measure.TurnRatio, Of: contender.OursFair, AtMost: 1.2}},
			Open:    func(lab *Lab) (Subject, error) { return openLoad(lab, 1, 64, "fair") },
		},
		{
			ID: "fair8x8", Title: "64 goroutines over 8 clients, one name, fair lock",
			Contenders: append([]string{contender.OursFair}, peers...), Rounds: 2, Far: true,
			Columns: append(append([]Column{}, columns...),
				Column{measure.TurnRatio, "most/fewest turns"}, Column{clientTurnRatio, "most/fewest by client"}),
			Goals: []Goal{
				{Figure: measure.Rate, Of: contender.OursFair, To: withJava(peers), AtLeast: 1, Away: true},
				{Figure: clientTurnRatio, Of: contender.OursFair, AtMost: 1.2},
			},
			Open: func(lab *Lab) (Subject, error) { return openLoad(lab, 8, 64, "fair") },
			Java: func(lab *Lab) (Subject, error) { return openJava(lab, 8, 64, "fair", "fair") },
		},
	}
}
