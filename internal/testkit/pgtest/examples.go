package pgtest

import (
	"fmt"
	"os"
)

// ServeExamples starts the server of [Shared] for the examples of a package, carries out a statement in its database
// postgres, and puts the connection string of that into the variable DATABASE_URL of the environment. A TestMain calls
// it before [Main], which ends the server.
//
// So an example needs no helper that a reader does not see: it connects to os.Getenv("DATABASE_URL").
func ServeExamples(sql string) {
	server, err := startShared()
	if err == nil {
		url := urlOf(server.port, "postgres")
		err = server.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql)
		if err == nil {
			err = os.Setenv("DATABASE_URL", url)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		os.Exit(1)
	}
}
