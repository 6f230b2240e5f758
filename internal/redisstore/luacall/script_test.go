package luacall

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A command leads to the name of its script, however it is sent.
func TestACommandHasTheNameOfItsScript(t *testing.T) {
	one := newScriptOfOne("renew")
	for want, args := range map[string][]any{
		"acquire":      {"evalsha", acquireScript.sha, 1, "key"},
		"release_many": {"eval", releaseManyScript.source, 1, "key"},
		"renew":        {"evalsha", one.sha, 1, "key"},
		"":             {"wait", 1, 100},
	} {
		require.Equal(t, want, ScriptName(args))
	}
	require.Empty(t, ScriptName([]any{"evalsha", "of another library", 0}))
	require.Empty(t, ScriptName(nil))
}
