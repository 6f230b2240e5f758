package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

const serverVariable = "HOLDFAST_REDIS_SERVER"

var errNoServer = errors.New("found no Redis server: install redis-server or valkey-server, " +
	"or set " + serverVariable + " to the path of the program")

// program is the path of what servers run. A program that is named takes precedence over whatever is installed.
func program() (path string, err error) {
	if named := os.Getenv(serverVariable); named != "" {
		if path, err = exec.LookPath(named); err != nil {
			return "", fmt.Errorf("%w (%s: %w)", errNoServer, serverVariable, err)
		}
		return path, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoServer
}
