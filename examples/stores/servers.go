package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is a program that this one has started. It keeps nothing when it ends.
type server struct {
	addr string // host and port
	dir  string // its folder; "": it has none
	end  os.Signal

	cmd  *exec.Cmd
	said bytes.Buffer
	gone chan struct{} // closed when it has ended
}

// startRedis starts the Redis or Valkey that is installed.
func startRedis(ctx context.Context) (*server, error) {
	path, err := redisProgram()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{addr: net.JoinHostPort("127.0.0.1", port), end: os.Kill}
	s.cmd = exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	return s, s.start(ctx, func() error {
		conn, err := net.DialTimeout("tcp", s.addr, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func redisProgram() (string, error) {
	if path := os.Getenv("HOLDFAST_REDIS_SERVER"); path != "" {
		return path, nil
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Redis: set REDIS_URL to one, or install redis-server or valkey-server, " +
		"or name its program in HOLDFAST_REDIS_SERVER")
}

// startPostgres makes a database in a folder of its own, and starts the PostgreSQL that is installed on it.
func startPostgres(ctx context.Context) (s *server, err error) {
	bin, err := postgresFolder()
	if err != nil {
		return nil, err
	}
	as, err := account()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s = &server{addr: net.JoinHostPort("127.0.0.1", port), end: syscall.SIGINT} // it then leaves no process behind
	if s.dir, err = os.MkdirTemp("", "stores-"); err != nil {
		return nil, err
	}
	if as != nil {
		if err := os.Chown(s.dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	program := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: as}
		return cmd
	}
	data := filepath.Join(s.dir, "data")
	said, err := program("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, said), s.stop())
	}
	s.cmd = program("postgres", "-D", data, "-p", port, "-k", s.dir, "-c", "listen_addresses=127.0.0.1",
		"-c", "fsync=off") // what it keeps is not for long
	return s, s.start(ctx, func() error {
		conn, err := pgx.Connect(ctx, s.url())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

func (s *server) url() string { return "postgres://postgres@" + s.addr + "/postgres" }

// postgresFolder returns where the programs of PostgreSQL are.
func postgresFolder() (string, error) {
	const missing = "there is no PostgreSQL: set DATABASE_URL to one, or install its server, or name the folder of " +
		"its programs in HOLDFAST_POSTGRES_BIN"
	named := os.Getenv("HOLDFAST_POSTGRES_BIN")
	folders := []string{named}
	if named == "" {
		if path, err := exec.LookPath("postgres"); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil {
				folders = append(folders, filepath.Dir(path))
			}
		}
		debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // which is on nobody's PATH
		folders = append(folders, debian...)
	}
	for _, folder := range folders {
		_, err := exec.LookPath(filepath.Join(folder, "initdb"))
		if folder != "" && err == nil {
			return folder, nil
		}
	}
	return "", errors.New(missing)
}

// account is whom a PostgreSQL runs as, which refuses to be root; nil: as this program.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		of, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(of.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(of.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uidErr, gidErr)
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres: run this as another user")
}

// startEtcd starts an etcd in a folder of its own.
func startEtcd(ctx context.Context) (s *server, err error) {
	path, err := etcdProgram(ctx)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	peers, err := freePort() // for other members: there are none
	if err != nil {
		return nil, err
	}
	s = &server{addr: net.JoinHostPort("127.0.0.1", port), end: os.Kill}
	if s.dir, err = os.MkdirTemp("", "stores-"); err != nil {
		return nil, err
	}
	own, peer := "http://"+s.addr, "http://"+net.JoinHostPort("127.0.0.1", peers)
	s.cmd = exec.Command(path, "--name=alone", "--data-dir="+filepath.Join(s.dir, "data"), "--log-level=error",
		"--listen-client-urls="+own, "--advertise-client-urls="+own, "--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer, "--initial-cluster=alone="+peer,
		"--unsafe-no-fsync") // what it keeps is not for long
	// It reads settings from variables, too, and those of the user are for another server.
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
	return s, s.start(ctx, func() error {
		answer, err := http.Get(own + "/health")
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
		return errors.Join(err, answer.Body.Close())
	})
}

// builder says where an etcd is that suits locks, and builds one if there is none: those of many distributions are too
// old. A copy of this program outside of the checkout does not have it.
const builder = "scripts/setup-etcd.sh"

func etcdProgram(ctx context.Context) (string, error) {
	folder := os.Getenv("HOLDFAST_ETCD_BIN")
	if _, err := os.Stat(builder); err == nil && folder == "" {
		build := exec.CommandContext(ctx, "./"+builder)
		build.Stderr = os.Stderr
		said, err := build.Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w", builder, err)
		}
		folder = strings.TrimSpace(string(said))
	}
	name := "etcd"
	if folder != "" {
		name = filepath.Join(folder, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("there is no etcd: set ETCD_ENDPOINTS to one, or install its server (3.5.23, 3.6.5 or " +
			"newer), or name the folder of its program in HOLDFAST_ETCD_BIN")
	}
	return path, nil
}

func freePort() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	return port, free.Close()
}

// start starts the program, and returns when it answers.
func (s *server) start(ctx context.Context, ask func() error) error {
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	if err := s.cmd.Start(); err != nil {
		return errors.Join(err, s.stop())
	}
	s.gone = make(chan struct{})
	go func() {
		_ = s.cmd.Wait() // it ends by a signal
		close(s.gone)
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.gone:
			return errors.Join(fmt.Errorf("%s ended at once: %s", s.cmd.Path, s.said.String()), s.stop())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s did not start: %w", s.cmd.Path, err), s.stop())
		}
	}
}

// stop ends the program, and removes its folder.
func (s *server) stop() error {
	if s.gone != nil {
		_ = s.cmd.Process.Signal(s.end) // it may have ended
		<-s.gone
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
