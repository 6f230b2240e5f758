// Command failover has the primary of a cluster, and that behind a Sentinel, go in every way there is, under clients
// of this module's locks and of bsm/redislock at once, and prints what it cost each, as the table of
// integration/README.md. It takes a quarter of an hour, and starts its own servers.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/integration/failover"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

func main() {
	only := flag.String("only", "", "beginning of the kinds to run; none: all")
	flag.Parse()
	os.Exit(run(*only))
}

func run(only string) (code int) {
	var all []failover.Figures
	for _, kind := range failover.Kinds {
		if !strings.HasPrefix(string(kind), only) {
			continue
		}
		for _, lease := range []time.Duration{9 * time.Second, 30 * time.Second} {
			ok := servers.Alone(func(t testing.TB) {
				libraries := []failover.Library{failover.Ours, peers}
				if kind == failover.SentinelOverTwo {
					libraries = append(libraries, failover.Confirming...)
				}
				figures := failover.Run(t, failover.NewSite(t, kind), lease, libraries...)
				for _, f := range figures {
					fmt.Fprintf(os.Stderr, "%+v\n", f)
				}
				all = slices.Concat(all, figures)
			})
			if !ok {
				code = 1
			}
		}
	}
	if err := failover.Table(os.Stdout, all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
