package etcdtest

import (
	"fmt"
	"os"
)

// ServeExamples starts the server of [Shared] for the examples of a package, and puts its URL into the variable
// ETCD_ENDPOINTS of the environment. A TestMain calls it before [Main], which ends the server.
//
// So an example needs no helper that a reader does not see: it connects to os.Getenv("ETCD_ENDPOINTS").
func ServeExamples() {
	server, err := startShared()
	if err == nil {
		err = os.Setenv("ETCD_ENDPOINTS", server.Endpoint())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcdtest:", err)
		os.Exit(1)
	}
}
