package redistest

import (
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// ServeExamples starts n servers for the examples of a package, inside this process where locks work on those, and puts
// the address of the first into the variable REDIS_ADDR of the environment, and all addresses into REDIS_NODES. A
// TestMain calls it before [Main], which closes them.
//
// So an example needs no helper that a reader does not see: it connects to os.Getenv("REDIS_ADDR"), and where nobody
// has set that, go-redis connects to localhost:6379.
func ServeExamples(n int) {
	var addrs []string
	for range n {
		addr, stop, err := serve()
		if err != nil {
			fmt.Fprintln(os.Stderr, "redistest:", err)
			os.Exit(1)
		}
		servers.AtEnd(stop)
		addrs = append(addrs, addr)
	}
	for name, value := range map[string]string{"REDIS_ADDR": addrs[0], "REDIS_NODES": strings.Join(addrs, " ")} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "redistest:", err)
			os.Exit(1)
		}
	}
}

func serve() (addr string, stop func() error, err error) {
	if embedded.Narrow {
		server, err := launch(config{})
		if err != nil {
			return "", nil, err
		}
		return server.Addr(), server.close, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return "", nil, err
	}
	return server.Addr(), func() error { server.Close(); return nil }, nil
}
