package scenario

import (
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
)

// etcdWatches is how long etcd takes until it tells a new watcher at once.
const etcdWatches = 100 * time.Millisecond

// beyondRedis is ours beside the mutex of etcd, which is what those take who want more than one Redis: it is kept by
// a majority of servers, each of which has it on its disk before it answers. Here it is one server; a majority's
// round trips come on top.
func beyondRedis() []Scenario {
	both := []string{contender.Ours, contender.Etcd}
	return []Scenario{
		{
			ID: "etcd1", Title: "1 goroutine, a free lock, beside one etcd: Lock and unlock",
			Contenders: both, NeedsEtcd: true, Rounds: 2, Far: true,
			Columns: []Column{
				{measure.Rate, "pairs/s"}, {measure.P50, "lock p50 µs"}, {measure.P99, "lock p99 µs"},
				{measure.Allocs, "allocs"}, {measure.Sends, "sends"}, {measure.ClientCPU, "client µs"},
			},
			Goals: []Goal{{Figure: measure.Rate, Of: contender.Ours, To: both[1:], AtLeast: 1}},
			Open:  func(lab *Lab) (Subject, error) { return openLoad(lab, 1, 1, "") },
		},
		{
			ID: "etcd-handover", Title: "From release in one process to acquisition in another, beside one etcd",
			Contenders: both, NeedsEtcd: true, Rounds: 1, Far: true,
			Columns: []Column{
				{handoverP50, "p50 µs"}, {handoverP99, "p99 µs"}, {measure.Sends, "sends"},
			},
			Goals: []Goal{{Figure: handoverP50, Of: contender.Ours, To: both[1:], AtMost: 1}},
			Open: func(lab *Lab) (Subject, error) {
				subject, err := openHandover(lab)
				if err == nil {
					r := subject.(*relay)
					r.turns, r.settle = min(r.turns, 16), r.settle+etcdWatches
				}
				return subject, err
			},
		},
	}
}
