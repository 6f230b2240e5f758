// Command holdfast runs programs under distributed locks on Redis, and looks after such locks.
//
//	holdfast run nightly -- ./report --all
//
// The page docs/command-line.md of the repository describes it; holdfast help lists its commands.
package main

import (
	"os"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args))
}
