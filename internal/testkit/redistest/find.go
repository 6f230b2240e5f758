package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

const (
	serverVariable = "HOLDFAST_REDIS_SERVER"
	imageVariable  = "HOLDFAST_REDIS_IMAGE"
	defaultImage   = "redis:8-alpine"
)

var errNoServer = errors.New("found no Redis server: install redis-server or valkey-server, " +
	"or start Docker, or set " + serverVariable + " to the path of the program")

// newBackend decides what the server runs on. A program or an image that is named explicitly takes precedence over
// whatever is installed.
func newBackend(port int, dir string, args []string) (backend, error) {
	if program := os.Getenv(serverVariable); program != "" {
		path, err := exec.LookPath(program)
		if err != nil {
			return nil, fmt.Errorf("%w (%s: %w)", errNoServer, serverVariable, err)
		}
		return newProcess(path, dir, args), nil
	}
	image := os.Getenv(imageVariable)
	if image == "" {
		if path, err := find("redis-server", "valkey-server"); err == nil {
			return newProcess(path, dir, args), nil
		}
		image = defaultImage
	}
	return newContainer(image, port, dir, args)
}

func find(programs ...string) (path string, err error) {
	for _, program := range programs {
		if path, err = exec.LookPath(program); err == nil {
			return path, nil
		}
	}
	return "", err
}
