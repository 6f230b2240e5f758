package report

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/scenario"
)

// Raw is everything that was measured, and where.
type Raw struct {
	Command string            `json:"command"`
	At      time.Time         `json:"at"`
	Took    string            `json:"took"`
	Go      string            `json:"go"`
	System  string            `json:"system"`
	Cores   int               `json:"cores"`
	Redis   string            `json:"redis"`
	Modules map[string]string `json:"modules"`

	Scenarios []Result `json:"scenarios"`
}

// Result is one scenario's.
type Result struct {
	ID       string             `json:"id"`
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

// Write writes the file.
func (r Raw) Write(path string) error {
	for _, result := range r.Scenarios {
		for _, sample := range result.Samples {
			maps.DeleteFunc(sample.Figures, func(_ string, v float64) bool {
				return math.IsNaN(v) || math.IsInf(v, 0) // a brief run may have nothing to divide by
			})
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
