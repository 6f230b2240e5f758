package cli

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// passwords have one of every special character between two parts, of which neither may be told. Digits are taken for a
// port or a database where the character ends what they stand in.
func passwords() (all [][2]string) {
	for c := byte(' ' - 1); c <= 0x7f; c++ {
		for _, part := range []string{"hunter", "7391402"} {
			all = append(all, [2]string{part, string(c) + "correcthorse"})
		}
	}
	return all
}

// defect F6: the error of a URL that does not parse quotes it, with the password.
func TestAPasswordIsNotTold(t *testing.T) {
	refused := 0
	for _, password := range passwords() {
		for _, format := range []string{
			"redis://locks:%s@127.0.0.1:1/0", "rediss://:%s@127.0.0.1:1", "redis://locks:%s@[::1]:1?db=x", "unix://locks:%s@/none?db=1",
			"%s@127.0.0.1:1", "redis:%s", "http://locks:%s@127.0.0.1",
		} {
			url := fmt.Sprintf(format, password[0]+password[1])
			if rdb, err := (&globals{url: url}).open(); err == nil {
				assert.Contains(t, rdb.(*redis.Client).Options().Password, password[0], "%q is for another server", url)
				require.NoError(t, rdb.Close())
				continue
			}
			refused++
			t.Setenv("REDIS_URL", url)
			for _, args := range [][]string{{"--redis", url, "list"}, {"list"}, {"run", "x", "true"}, {"doctor"}} {
				out, code := execute(t, args...)
				assert.Equal(t, exitUsage, code, "%q", url)
				assert.NotContains(t, out, password[0], "%q", url)
				assert.NotContains(t, out, "correct", "%q", url)
				assert.Contains(t, out, "%XX")
			}
		}
	}
	assert.Greater(t, refused, 100)
}
