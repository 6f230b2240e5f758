// Package redisson runs Redisson, the library in Java whose locks ours share, in a JVM of its own.
//
// Its clients lock and unlock in Java threads, and only what they measured comes back, so that nothing of the talk
// with the JVM is in the figures. The version is that of integration/redisson, by whose pom Maven fetches it.
package redisson

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/jdk"
)

// buildLimit is for the first time, when Maven fetches Redisson, all that it needs, and its own plugins.
const buildLimit = 6 * time.Minute

//go:embed Load.java Peer.java
var sources embed.FS

// Program is Load.java and Peer.java, compiled.
type Program struct {
	dir     string // has the classes
	jars    string
	Version string // of Redisson
	Java    string // what the compiler says of its version
}

// Build compiles the program. An error says in a sentence why there is no Redisson to be measured.
func Build(ctx context.Context) (*Program, error) {
	if missing := jdk.Missing(); missing != "" {
		return nil, errors.New(missing)
	}
	pom, err := jdk.Project()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	if err := output(ctx, pom, "mvn", "-q", "-B", "dependency:copy-dependencies"); err != nil {
		return nil, err
	}
	p := &Program{jars: filepath.Join(pom, "target", "lib")}
	if p.dir, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return nil, err
	}
	if err := p.compile(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	jars, err := filepath.Glob(filepath.Join(p.jars, "redisson-*.jar"))
	if err == nil && len(jars) > 0 {
		p.Version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "redisson-"), ".jar")
	}
	return p, nil
}

func (p *Program) compile(ctx context.Context) error {
	if err := os.CopyFS(p.dir, sources); err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, "javac", "-version").CombinedOutput()
	if err != nil {
		return err
	}
	p.Java = strings.TrimSpace(string(version))
	return output(ctx, p.dir, "javac", "-cp", filepath.Join(p.jars, "*"), "-d", p.dir,
		filepath.Join(p.dir, "Load.java"), filepath.Join(p.dir, "Peer.java"))
}

// Peer is a JVM with one client that runs Peer.java, and ends with its input: small and quickly started, not fast in
// the long run.
func (p *Program) Peer(args ...string) *exec.Cmd {
	return p.command([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"}, "Peer", args)
}

func (p *Program) command(options []string, class string, args []string) *exec.Cmd {
	all := slices.Concat(options, []string{
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dfile.encoding=UTF-8", "-cp", p.classPath(), class,
	}, args)
	return exec.Command("java", all...)
}

// Close removes what was compiled.
func (p *Program) Close() error { return os.RemoveAll(p.dir) }

func (p *Program) classPath() string {
	return p.dir + string(os.PathListSeparator) + filepath.Join(p.jars, "*")
}

func output(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s fails: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
