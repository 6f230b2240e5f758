package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	pullLimit   = 5 * time.Minute // the first run of an image may have to pull it
	dockerLimit = 30 * time.Second
)

// dockerLabel marks the containers of tests: those of a test that was killed can be found by it.
const dockerLabel = "holdfast-test"

// docker runs a command of Docker's client and returns what it printed. The client is a program and no library: what a
// library needs would be in the go.mod of everybody who uses this module.
func docker(limit time.Duration, args ...string) (printed string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out, said strings.Builder
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		return "", fmt.Errorf("docker %s: %w: %s", args[0], errors.Join(err, ctx.Err()), text)
	}
	return strings.TrimSpace(out.String()), nil
}

// NoDocker says in a few words why no container can be started; "" if one can.
func NoDocker() string {
	if _, err := docker(dockerLimit, "version", "--format", "{{.Server.Version}}"); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	return ""
}

// Contained starts the server of an image as its users do, with its own configuration and a port that Docker chooses,
// and returns a client of it. The container ends with the test.
func Contained(t testing.TB, image string) *redis.Client {
	t.Helper()
	id, err := docker(pullLimit, "run", "--detach", "--label", dockerLabel, "--publish", "127.0.0.1::6379", image)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(func() {
		if _, err := docker(dockerLimit, "rm", "--force", "--volumes", id); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	addr, err := docker(dockerLimit, "port", id, "6379/tcp")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	Eventually(t, startLimit, func() bool { return rdb.Ping(t.Context()).Err() == nil }, image+" answers")
	return rdb
}

// docked is a server that runs in a container. On Linux it shares the host's network, so that
// servers reach one another where clients reach them; elsewhere its port is mapped, which works
// for a single server but not for clusters, replicas and Sentinels.
type docked struct {
	image string
	port  int
	dir   string
	args  []string
	id    string // of the container; "" before the first start
}

func newContainer(image string, port int, dir string, args []string) (backend, error) {
	if missing := NoDocker(); missing != "" {
		return nil, fmt.Errorf("%w (%s)", errNoServer, missing)
	}
	if !onHostNetwork() {
		args = append(args[:len(args):len(args)], "--bind", "0.0.0.0", "--protected-mode", "no")
	}
	return &docked{image: image, port: port, dir: dir, args: args}, nil
}

func onHostNetwork() bool { return runtime.GOOS == "linux" }

func (d *docked) start() error {
	if d.id != "" {
		_, err := docker(dockerLimit, "start", d.id)
		return err
	}
	// With our own user the server's files can be removed. A port chosen by Docker would change with every restart.
	port := strconv.Itoa(d.port)
	args := []string{"create", "--label", dockerLabel, "--volume", d.dir + ":" + d.dir,
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())}
	if onHostNetwork() {
		args = append(args, "--network", "host")
	} else {
		args = append(args, "--publish", "127.0.0.1:"+port+":"+port)
	}
	id, err := docker(pullLimit, append(append(args, d.image, "redis-server"), d.args...)...)
	if err != nil {
		return err
	}
	d.id = id // even if it does not start, so that close removes it
	_, err = docker(dockerLimit, "start", d.id)
	return err
}

func (d *docked) kill() error {
	if !d.alive() {
		return nil
	}
	if _, err := docker(dockerLimit, "kill", d.id); err != nil {
		return err
	}
	_, err := docker(dockerLimit, "wait", d.id)
	return err
}

func (d *docked) freeze() error {
	_, err := docker(dockerLimit, "pause", d.id)
	return err
}

func (d *docked) thaw() error {
	_, err := docker(dockerLimit, "unpause", d.id)
	return err
}

func (d *docked) alive() bool {
	if d.id == "" {
		return false
	}
	running, err := docker(dockerLimit, "inspect", "--format", "{{.State.Running}}", d.id)
	return err == nil && running == "true"
}

// pid is unknown: the server sees the one of its own namespace.
func (d *docked) pid() int { return 0 }

func (d *docked) close() error {
	if d.id == "" {
		return nil
	}
	_, err := docker(dockerLimit, "rm", "--force", "--volumes", d.id)
	return err
}

func (d *docked) output() string {
	if d.id == "" {
		return ""
	}
	out, err := exec.Command("docker", "logs", d.id).CombinedOutput()
	if err != nil {
		return err.Error()
	}
	return tail(out)
}
