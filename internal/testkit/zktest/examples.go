package zktest

import (
	"fmt"
	"os"
)

// ServeExamples starts the server of [Shared] for the examples of a package, and puts its address into the variable
// ZOOKEEPER_SERVERS of the environment. A TestMain calls it before [Main], which ends the server.
//
// So an example needs no helper that a reader does not see: it connects to os.Getenv("ZOOKEEPER_SERVERS").
func ServeExamples() {
	server, err := startShared()
	if err == nil {
		err = os.Setenv("ZOOKEEPER_SERVERS", server.Addr())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "zktest:", err)
		os.Exit(1)
	}
}
