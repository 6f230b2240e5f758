package witness

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

// Tell says the hold to the test that started this process, which [Heard] returns there.
func (h Hold) Tell() { role.Check(json.NewEncoder(os.Stdout).Encode(h)) }

// Heard returns the holds that a process tells until it says last. Anything else that it says fails the test, and so
// does a silence beyond limit.
func Heard(t testing.TB, p *role.Process, last string, limit time.Duration) (holds []Hold) {
	t.Helper()
	for {
		line, err := p.Next(limit)
		require.NoError(t, err)
		if line == last {
			return holds
		}
		var h Hold
		require.NoError(t, json.Unmarshal([]byte(line), &h), line)
		holds = append(holds, h)
	}
}
