package redlock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Defect E1: whatever calls the field, a member of a cluster is recognised by what INFO tells. The texts are
// those of Redis 6.2.5, Redis 7.0.15 and Valkey 9.1.2.
func TestTheModeIsReadFromEveryInfo(t *testing.T) {
	t.Parallel()
	for text, mode := range map[string]string{
		"# Server\r\nredis_version:6.2.5\r\nredis_mode:cluster\r\nos:Linux\r\n":                                    "cluster",
		"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nos:Linux\r\n":                                "standalone",
		"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\nserver_mode:cluster\r\n": "cluster",
		"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nserver_mode:standalone\r\n":                      "standalone",
		"# Server\r\nuptime_in_seconds:12\r\n":                                                                     "",
	} {
		require.Equal(t, mode, modeOf(fields(text)), "%q", text)
	}
}
