// Package program builds the programs in integration/redisson/java, which lock by Redisson.
package program

import (
	"sync"

	"github.com/holdfast-go/holdfast/internal/testkit/jdk"
)

// ClassPath builds the programs, if this process has not yet, and returns java's class path. An error says in a
// sentence what is missing; [jdk.Missing] tells beforehand.
var ClassPath = sync.OnceValues(func() (string, error) { return jdk.Build("integration/redisson/java") })
