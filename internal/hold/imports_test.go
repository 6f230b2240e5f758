package hold

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A hold sends nothing: of this module it knows the watchdog, which has the clock, and nothing else.
func TestOnlyTheWatchdogIsImported(t *testing.T) {
	const module = "github.com/holdfast-go/holdfast/"
	out, err := exec.Command("go", "list", "-deps", module+"internal/hold").Output()
	require.NoError(t, err)
	var ours []string
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(dep, module) {
			ours = append(ours, strings.TrimPrefix(dep, module))
		}
	}
	require.ElementsMatch(t, []string{"internal/hold", "watchdog"}, ours)
}
