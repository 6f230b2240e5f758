package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/bench/internal/trips"
)

// Raw is everything that was measured, and where.
type Raw struct {
	Command string            `json:"command"`
	At      time.Time         `json:"at"`
	Took    string            `json:"took"`
	Go      string            `json:"go"`
	System  string            `json:"system"`
	Cores   int               `json:"cores"`
	Redis   string            `json:"redis,omitempty"`
	Note    string            `json:"note,omitempty"`   // what else is to be known of the machine
	Relays  []string          `json:"relays,omitempty"` // what each really adds
	Modules map[string]string `json:"modules"`

	Stores []string `json:"stores,omitempty"` // and their versions, where Redis is not the only one

	Scenarios []Result    `json:"scenarios"`
	Trips     []trips.Row `json:"trips,omitempty"`
}

// Result is one scenario's.
type Result struct {
	ID       string             `json:"id"`
	Store    string             `json:"store,omitempty"`
	Distance string             `json:"distance,omitempty"`
	Title    string             `json:"title"`
	Samples  []scenario.Sample  `json:"samples"`
	Verdicts []scenario.Verdict `json:"verdicts,omitempty"`
}

// NewRaw notes where the measurement takes place.
func NewRaw(command, redis string) Raw {
	r := Raw{
		Command: command, At: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Redis: redis,
		Modules: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			r.Modules[m.Path] = m.Version
		}
	}
	return r
}

// Provenance is what has to stand beside a figure: the command, and where it was run with what.
func (r Raw) Provenance() string {
	text := fmt.Sprintf("`cd bench && %s`, %s, %s: %s, %s, %d cores",
		r.Command, r.At.Format(time.DateOnly), r.Took, r.Go, r.System, r.Cores)
	if r.Note != "" {
		text += ", " + r.Note
	}
	if len(r.Stores) > 0 {
		return text + ", " + strings.Join(r.Stores, ", ") + r.versions(storeModules)
	}
	return text + ", Redis " + r.Redis + r.versions(redisModules)
}

func (r Raw) versions(modules []string) (text string) {
	for _, module := range modules {
		if version := r.Modules[module]; version != "" {
			text += ", " + shortName(module) + " " + version
		}
	}
	return text
}

// Where [Raw.Modules] has the versions of what is no Go module of this program.
const (
	Redisson = "org.redisson/redisson"
	Etcd     = "etcd"
)

var redisModules = []string{
	"github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/rueidis",
	"github.com/redis/go-redis/v9", Redisson, "go.etcd.io/etcd/client/v3", Etcd,
}

var storeModules = []string{
	"github.com/bsm/redislock", "github.com/redis/go-redis/v9", "cirello.io/pglock", "github.com/lib/pq",
	"github.com/jackc/pgx/v5", "go.etcd.io/etcd/client/v3",
}

// shortName is the last part of a module's path that is no version.
func shortName(module string) string {
	if base := path.Base(module); base[0] != 'v' {
		return base
	}
	return path.Base(path.Dir(module))
}

// Write writes the file.
func (r Raw) Write(file string) error {
	for _, result := range r.Scenarios {
		for _, sample := range result.Samples {
			maps.DeleteFunc(sample.Figures, func(_ string, v float64) bool {
				return math.IsNaN(v) || math.IsInf(v, 0) // a brief run may have nothing to divide by
			})
			for name, v := range sample.Figures {
				sample.Figures[name] = sixDigits(v)
			}
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// sixDigits leaves off what no clock has measured; the file is kept beside the documents.
func sixDigits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}
