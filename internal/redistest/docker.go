package redistest

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"go.uber.org/goleak"
)

const (
	pullLimit   = 5 * time.Minute // the first run of an image may have to pull it
	dockerLimit = 30 * time.Second
)

// usedDocker records whether this binary ever started a container.
var usedDocker atomic.Bool

// docked is a server that runs in a container. On Linux it shares the host's network, so that
// servers reach one another where clients reach them; elsewhere its port is mapped, which works
// for a single server but not for clusters, replicas and Sentinels.
type docked struct {
	image  string
	port   int
	dir    string
	args   []string
	docker *testcontainers.DockerClient
	ctr    *testcontainers.DockerContainer
}

func newContainer(image string, port int, dir string, args []string) (b backend, err error) {
	// Without a daemon testcontainers sometimes panics instead of returning an error.
	defer func() {
		if problem := recover(); problem != nil {
			b, err = nil, fmt.Errorf("%w (Docker: %v)", errNoServer, problem)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
	defer cancel()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w (Docker: %w)", errNoServer, err)
	}
	if _, err := docker.Ping(ctx, client.PingOptions{}); err != nil {
		_ = docker.Close()
		return nil, fmt.Errorf("%w (Docker: %w)", errNoServer, err)
	}
	// If the named engine does not answer, the one at the usual place is tried.
	if want := os.Getenv("DOCKER_HOST"); want != "" && docker.DaemonHost() != want {
		_ = docker.Close()
		return nil, fmt.Errorf("%w (Docker: DOCKER_HOST is %s, and no engine answers there)",
			errNoServer, want)
	}
	if !onHostNetwork() {
		args = append(args[:len(args):len(args)], "--bind", "0.0.0.0", "--protected-mode", "no")
	}
	return &docked{image: image, port: port, dir: dir, args: args, docker: docker}, nil
}

func onHostNetwork() bool { return runtime.GOOS == "linux" }

func (d *docked) start() error {
	if d.ctr != nil {
		ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
		defer cancel()
		return d.ctr.Start(ctx)
	}
	ctx, cancel := context.WithTimeout(context.Background(), pullLimit)
	defer cancel()
	usedDocker.Store(true)
	ctr, err := testcontainers.Run(ctx, d.image,
		testcontainers.WithCmd(append([]string{"redis-server"}, d.args...)...),
		testcontainers.WithConfigModifier(func(c *container.Config) {
			// We must be able to remove the server's files.
			c.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
		}),
		testcontainers.WithHostConfigModifier(d.configureHost))
	d.ctr = ctr // set even on an error, so that close removes what was made
	return err
}

func (d *docked) configureHost(host *container.HostConfig) {
	host.Binds = append(host.Binds, d.dir+":"+d.dir)
	if onHostNetwork() {
		host.NetworkMode = "host"
		return
	}
	// A port chosen by Docker would change with every restart.
	port := network.MustParsePort(strconv.Itoa(d.port) + "/tcp")
	host.PortBindings = network.PortMap{port: []network.PortBinding{{
		HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(d.port),
	}}}
}

func (d *docked) kill() error {
	if !d.alive() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
	defer cancel()
	_, err := d.docker.ContainerKill(ctx, d.ctr.GetContainerID(),
		client.ContainerKillOptions{Signal: "SIGKILL"})
	for pause := newBackoff(); err == nil && d.alive(); pause.sleep() {
		err = ctx.Err()
	}
	return err
}

func (d *docked) freeze() error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
	defer cancel()
	_, err := d.docker.ContainerPause(ctx, d.ctr.GetContainerID(), client.ContainerPauseOptions{})
	return err
}

func (d *docked) thaw() error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
	defer cancel()
	_, err := d.docker.ContainerUnpause(ctx, d.ctr.GetContainerID(),
		client.ContainerUnpauseOptions{})
	return err
}

func (d *docked) alive() bool {
	if d.ctr == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
	defer cancel()
	state, err := d.ctr.State(ctx)
	return err == nil && state.Running
}

// pid is unknown: the server sees the one of its own namespace.
func (d *docked) pid() int { return 0 }

func (d *docked) close() error {
	defer func() { _ = d.docker.Close() }()
	if d.ctr == nil {
		return nil
	}
	if err := d.kill(); err != nil {
		return err
	}
	return testcontainers.TerminateContainer(d.ctr)
}

func (d *docked) output() string {
	if d.ctr == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerLimit)
	defer cancel()
	logs, err := d.ctr.Logs(ctx)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = logs.Close() }()
	text, _ := io.ReadAll(logs) // show whatever could be read
	return tail(text)
}

// dockerLeaks names the goroutines that testcontainers keeps as long as the binary runs: its
// connection to the container that cleans up after a killed test, and idle HTTP connections.
func dockerLeaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/testcontainers/testcontainers-go.(*Reaper).connect.func1"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	}
}
