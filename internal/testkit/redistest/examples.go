package redistest

import (
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// ServeExamples starts n servers inside this process for the examples of a package, and puts the address of the first
// into the variable REDIS_ADDR of the environment, and all addresses into REDIS_NODES. A TestMain calls it before
// [Main], which closes them.
//
// So an example needs no helper that a reader does not see: it connects to os.Getenv("REDIS_ADDR"), and where nobody
// has set that, go-redis connects to localhost:6379.
func ServeExamples(n int) {
	var addrs []string
	for range n {
		server, err := embedded.Start()
		if err != nil {
			fmt.Fprintln(os.Stderr, "redistest:", err)
			os.Exit(1)
		}
		servers.AtEnd(func() error { server.Close(); return nil })
		addrs = append(addrs, server.Addr())
	}
	for name, value := range map[string]string{"REDIS_ADDR": addrs[0], "REDIS_NODES": strings.Join(addrs, " ")} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "redistest:", err)
			os.Exit(1)
		}
	}
}
