package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Sentinels have credentials of their own. Without them, and with wrong ones, the error names the Sentinels
// (defect G55).
func TestSentinelsWithPasswords(t *testing.T) {
	lab := redistest.Sentinel(t)
	at := strings.Join(lab.Options().SentinelAddrs, ",")
	list := []string{"--sentinel", at, "--master", lab.Options().MasterName, "list"}
	for _, sentinel := range lab.Sentinels() {
		rdb := sentinel.Client(t)
		require.NoError(t, rdb.Do(t.Context(), "ACL", "SETUSER", "watch", "on", ">guard", "+@all").Err())
		require.NoError(t, rdb.Do(t.Context(), "ACL", "SETUSER", "blind", "on", ">fold", "-@all", "+ping").Err())
		require.NoError(t, rdb.Do(t.Context(), "ACL", "SETUSER", "default", "resetpass", ">secret").Err())
	}
	for what, test := range map[string]struct {
		env, says string
		flags     []string
		want      int
	}{
		"none":           {"", "it asks for credentials", nil, exitDenied},
		"the variable":   {"secret", "", nil, 0},
		"the flag":       {"mistaken", "", []string{"--sentinel-password", "secret"}, 0},
		"a user":         {"guard", "", []string{"--sentinel-user", "watch"}, 0},
		"wrong":          {"mistaken", "it refused the credentials", nil, exitDenied},
		"without rights": {"fold", "has no right to run", []string{"--sentinel-user", "blind"}, exitDenied},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("HOLDFAST_SENTINEL_PASSWORD", test.env)
			out, code := execute(t, append(test.flags, list...)...)
			assert.Equal(t, test.want, code, out)
			assert.Contains(t, out, test.says)
			if test.want != 0 {
				assert.Contains(t, out, "a Sentinel refuses to name the primary")
				assert.Contains(t, out, at)
				assert.Contains(t, out, "HOLDFAST_SENTINEL_PASSWORD")
				assert.NotContains(t, out, "mistaken")
				out, _ = execute(t, append(slices.Concat(test.flags, list[:4]), "doctor")...)
				assert.Contains(t, out, "a Sentinel refuses to name the primary")
			}
		})
	}
	_, code := execute(t, "--sentinel-user", "watch", "list")
	assert.Equal(t, exitUsage, code)
	out, code := execute(t, "--sentinel-password", "secret", "--sentinel", at, "--master", "nobody", "list")
	assert.Equal(t, exitUnavailable, code)
	assert.Contains(t, out, "nobody of "+at+"); the Sentinels watch no primary of that name")
}
