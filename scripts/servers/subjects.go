package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/scripts/internal/tally"
)

// A subject is a row of the table.
type subject struct {
	name   string
	suites string // what is run
	find   func() (found, error)
	tests  func(found) (tally.Tally, error)
}

// Versions that no other file names.
const (
	etcd35, etcd37 = "3.5.35", "3.7.3"
	zooKeeper38    = "3.8.0"
	goOld, goNew   = "go1.26.8", "go1.27.3" // the releases of Go that its authors support
)

func subjects() []subject {
	fetch := func(name string) []string { return []string{"scripts/fetch-servers.sh", name} }
	return []subject{
		onRedis("Redis 6.2", "redis-6.2", fetch("redis")),
		{"Redis, as installed", redisSuites, installed("scripts/setup-redis.sh"), redisTests},
		onRedis("Redis 7.2", "redis-7.2", nil),
		onRedis("Redis 7.4", "redis-7.4", fetch("redis-7.4")),
		onRedis("Redis 8", "redis-8", fetch("redis-8")),
		onRedis("Valkey 8", "valkey-8", fetch("valkey-8")),
		onRedis("Valkey 9", "valkey-9", fetch("valkey")),
		onPostgres("PostgreSQL 14", "postgres-14"),
		{"PostgreSQL, as installed", "`pglock`", installed("scripts/setup-postgres.sh"), postgresTests},
		onPostgres("PostgreSQL 18", "postgres-18"),
		onEtcd("etcd 3.5", "etcd-3.5", etcd35),
		onEtcd("etcd 3.6", "etcd-3.6", ""),
		onEtcd("etcd 3.7", "etcd-3.7", etcd37),
		onZooKeeper("ZooKeeper 3.8", "zookeeper-3.8", zooKeeper38),
		onZooKeeper("ZooKeeper 3.9", "zookeeper-3.9", ""),
		onGoRedis("go-redis, the oldest", oldestGoRedis),
		onGoRedis("go-redis, the newest", newestGoRedis),
		onGo("Go, the older", goOld),
		onGo("Go, the newer", goNew),
		builtFor("linux", "arm64"),
		builtFor("linux", "386"),
		builtFor("linux", "arm"),
		builtFor("darwin", "arm64"),
		builtFor("windows", "amd64"),
	}
}

const redisSuites = "conformance, scripts, faults"

func onRedis(name, folder string, script []string) subject {
	program := "redis-server"
	if folder[0] == 'v' {
		program = "valkey-server"
	}
	return subject{name, redisSuites, server{folder, program, script}.find, redisTests}
}

// redisTests runs the tests that depend on the server. Most of them wait, so more run at a time than there are
// processors.
func redisTests(on found) (tally.Tally, error) {
	packages, err := suite("servers")
	if err != nil {
		return tally.Tally{}, err
	}
	return tests{
		packages: packages, flags: []string{"-p", "3", "-parallel", "6", "-shuffle=on", "-timeout", "15m"},
		env: variable("HOLDFAST_REDIS_SERVER", on.program),
	}.run()
}

// variable is a setting of the environment; none for what is not set.
func variable(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{name + "=" + value}
}

func onPostgres(name, folder string) subject {
	from := server{folder, "bin/postgres", []string{"scripts/fetch-postgres.sh"}}
	return subject{name, "`pglock` without standbys", from.find, postgresTests}
}

// copies are tests that copy a server, by the pg_basebackup of the installed version: the others have none.
const copies = "TestAHoldThatTheStandbyLacksIsNotReliedOn|TestCheckByAUserWithoutRights"

func postgresTests(on found) (tally.Tally, error) {
	t := tests{packages: []string{"./pglock/..."}, flags: []string{"-p", "2", "-timeout", "15m"}}
	if on.program != "" {
		t.flags = append(t.flags, "-skip", copies)
		t.env = variable("HOLDFAST_POSTGRES_BIN", filepath.Dir(on.program))
	}
	return t.run()
}

func onEtcd(name, folder, version string) subject {
	script := []string{"scripts/setup-etcd.sh"}
	if version != "" {
		script = append(script, version)
	}
	return subject{name, "`etcdlock`", server{folder, "etcd", script}.find, func(on found) (tally.Tally, error) {
		return tests{
			packages: []string{"./etcdlock/..."}, flags: []string{"-p", "2", "-timeout", "15m"},
			env: variable("HOLDFAST_ETCD_BIN", filepath.Dir(on.program)),
		}.run()
	}}
}

func onZooKeeper(name, folder, version string) subject {
	script := []string{"scripts/setup-zookeeper.sh"}
	if version != "" {
		script = append(script, version)
	}
	from := server{folder, "zookeeper-*.jar", script}
	return subject{name, "`zklock`", from.findJar, func(on found) (tally.Tally, error) {
		return tests{
			packages: []string{"./zklock/..."}, flags: []string{"-p", "2", "-timeout", "15m"},
			env: variable("HOLDFAST_ZOOKEEPER_JARS", filepath.Dir(on.program)),
		}.run()
	}}
}

// onGoRedis runs what depends on go-redis most with a version of it, and above all the contract, which says what that
// is.
func onGoRedis(name string, find func() (found, error)) subject {
	return subject{name, "contract, `internal/redisstore`, `rlock`", find, func(on found) (tally.Tally, error) {
		dir, err := os.MkdirTemp("", "servers")
		if err != nil {
			return tally.Tally{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		flags, err := requiring(dir, on.version)
		if err != nil {
			return tally.Tally{}, err
		}
		return tests{
			packages: []string{"./internal/testkit/goredis", "./internal/redisstore/...", "./rlock"},
			flags:    append(flags, "-p", "3", "-parallel", "6", "-timeout", "15m"),
			env:      []string{"GOWORK=off"},
		}.run()
	}}
}

// The oldest version of go-redis that programs can have is that of go.mod.
func oldestGoRedis() (found, error) { return goRedis("") }

// newestGoRedis is there only if it is newer.
func newestGoRedis() (found, error) {
	oldest, err := oldestGoRedis()
	if err != nil {
		return found{}, err
	}
	newest, err := goRedis("@latest")
	if err == nil && newest == oldest {
		err = fmt.Errorf("%s, which go.mod names, is the newest", newest.version)
	}
	return newest, err
}

func goRedis(query string) (found, error) {
	said, err := output(nil, "go", "list", "-m", "-f", "{{.Version}}", "github.com/redis/go-redis/v9"+query)
	return found{version: strings.TrimSpace(said)}, err
}

// requiring makes a go.mod that requires a version of go-redis, for the module with the locks, and returns the flags to
// use it.
func requiring(dir, version string) ([]string, error) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	mod := filepath.Join(dir, "go.mod")
	_, err := output(nil, "go", "mod", "edit", "-require=github.com/redis/go-redis/v9@"+version, mod)
	return []string{"-mod=mod", "-modfile=" + mod}, err
}

// onGo builds, vets and tests the module with the locks with a release of Go.
func onGo(name, release string) subject {
	env := []string{"GOTOOLCHAIN=" + release, "GOWORK=off"}
	find := func() (found, error) {
		said, err := output(env, "go", "version")
		return found{version: version(said)}, err
	}
	return subject{name, "build, vet, `lock`, `rlock`, `internal/engine`", find, func(found) (tally.Tally, error) {
		for _, verb := range []string{"build", "vet"} {
			if _, err := output(env, "go", verb, "./..."); err != nil {
				return tally.Tally{Failed: 1}, err
			}
		}
		return tests{
			packages: []string{"./lock/...", "./watchdog/...", "./internal/engine", "./internal/localqueue", "./rlock"},
			flags:    []string{"-p", "2", "-timeout", "15m", "-skip", "^TestLongSearch"}, env: env,
		}.run()
	}}
}

// builtFor builds and vets what users import, with its tests, for another platform. Only bench and integration are left
// out, which run here.
func builtFor(system, processor string) subject {
	env := []string{"GOOS=" + system, "GOARCH=" + processor, "CGO_ENABLED=0"}
	find := func() (found, error) {
		said, err := output(env, "go", "version")
		return found{version: version(said)}, err
	}
	return subject{system + "/" + processor, "go build and go vet of what users import", find,
		func(found) (tally.Tally, error) {
			said, err := output(env, "go", "list", "-e", "-test", "-f", listing, "work")
			if err != nil {
				return tally.Tally{}, err
			}
			p := packagesOf(said, system == "windows")
			builds, err := output(env, "go", append([]string{"build"}, p.built...)...)
			vets, vetErr := output(env, "go", append([]string{"vet"}, p.vetted...)...)
			return p.count(builds + vets + fmt.Sprint(err, vetErr)), errors.Join(err, vetErr)
		}}
}
