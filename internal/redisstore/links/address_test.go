package links_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
)

// This is defect G51.
func TestAnAddressHasOneSpelling(t *testing.T) {
	for given, want := range map[string]string{
		"::1:7001":                "[::1]:7001",
		"[::1]:7001":              "[::1]:7001",
		"[0:0:0:0:0:0:0:1]:7001":  "[::1]:7001",
		"2001:DB8::a:7001":        "[2001:db8::a]:7001",
		"fe80::1%eth0:7001":       "[fe80::1%eth0]:7001",
		"[::ffff:127.0.0.1]:7001": "127.0.0.1:7001",
		"::ffff:127.0.0.1:7001":   "127.0.0.1:7001",
		"127.0.0.1:7001":          "127.0.0.1:7001",
		"Redis-1.example:7001":    "redis-1.example:7001",
		":7001":                   ":7001",
		"/run/redis.sock":         "/run/redis.sock",
		"":                        "",
	} {
		require.Equal(t, want, links.Address(given), given)
		require.Equal(t, want, links.Address(links.Address(given)), given)
	}
}

func TestARedirectionNamesAnAddress(t *testing.T) {
	for _, c := range []struct {
		err             error
		addr            string
		ask, redirected bool
	}{
		{errors.New("MOVED 3999 ::1:7001"), "[::1]:7001", false, true},
		{errors.New("ASK 3999 ::1:7001"), "[::1]:7001", true, true},
		{errors.New("MOVED 3999 127.0.0.1:7001"), "127.0.0.1:7001", false, true},
		{errors.New("CLUSTERDOWN Hash slot not served"), "", false, false},
		{nil, "", false, false},
	} {
		addr, ask, redirected := links.Redirected(c.err)
		require.Equal(t, c.addr, addr, c.err)
		require.Equal(t, c.ask, ask, c.err)
		require.Equal(t, c.redirected, redirected, c.err)
	}
}
