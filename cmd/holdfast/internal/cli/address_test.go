package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is wrong with the address is said, and no character of a password is blamed for it (defects G35, G69).
func TestWhatIsWrongWithAnAddressIsSaid(t *testing.T) {
	for at, says := range map[string]string{
		"::1:6379":                   "[::1]:6379",
		"::1":                        "[::1]:6379",
		"2001:db8::7:6379":           "[::1]:6379",
		"rediss://h:6379?ssl=true":   "the parameter ssl of another driver",
		"redis://h?ssl_cert_reqs=no": "the parameter ssl_cert_reqs of another driver: write rediss://",
		"rediss://u:p%23w@h:6379/0?ssl_cert_reqs=none&ssl_ca_certs=x": "ssl_ca_certs of another driver: give --tls-ca",
		"redis://h?password=secret":                                   "%XX",
	} {
		out, code := execute(t, "--redis", at, "list")
		assert.Equal(t, exitUsage, code, at)
		assert.Contains(t, out, says)
		if says != "%XX" {
			assert.NotContains(t, out, "special characters")
		}
		assert.NotContains(t, out, "secret")
	}
	for _, flags := range [][]string{
		{"--cluster", "a:1,::1:7000"}, {"--cluster", "redis://:secret@h:1"}, {"--sentinel", "h", "--master", "m"},
		{"--sentinel", ":26379", "--master", "m"},
	} {
		out, code := execute(t, append(flags, "list")...)
		assert.Equal(t, exitUsage, code, flags)
		assert.Contains(t, out, "[::1]:6379 of IPv6")
		assert.NotContains(t, out, "secret")
	}
}
