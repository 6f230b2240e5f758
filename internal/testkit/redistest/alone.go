package redistest

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// Alone runs fn outside of any test, for programs that need servers: see [servers.Alone].
func Alone(fn func(t testing.TB)) (ok bool) { return servers.Alone(fn) }
