// Package javalib runs libraries in Java whose locks ours share: Redisson and Curator, each in a JVM of its own.
//
// Their clients lock and unlock in Java threads, and only what they measured comes back, so that nothing of the talk
// with the JVM is in the figures. The versions are those of integration/redisson and integration/zookeeper, by whose
// poms Maven fetches them.
package javalib

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

// buildLimit is for the first time, when Maven fetches a library, all that it needs, and its own plugins.
const buildLimit = 6 * time.Minute

//go:embed Load.java Handle.java Peer.java redisson/*.java curator/*.java
var sources embed.FS

// Library is a library for Java, with the program that calls it.
type Library struct {
	folder  string // with its Client.java, and what else is for it alone
	project string // the Maven project that names its version
	jar     string // whose name has the version
	group   string
}

// The libraries.
var (
	Redisson = Library{"redisson", "integration/redisson/java", "redisson", "org.redisson"}
	Curator  = Library{"curator", "integration/zookeeper/java", "curator-recipes", "org.apache.curator"}
)

// Program is Load.java and Peer.java with a library, compiled.
type Program struct {
	dir     string // has the classes
	jars    string
	Name    string // of the library in Maven
	Version string
	Java    string // what the compiler says of its version
}

// Build compiles the program. An error says in a sentence why the library cannot be measured.
func Build(ctx context.Context, of Library) (*Program, error) {
	if missing := jdk.Missing(); missing != "" {
		return nil, errors.New(missing)
	}
	pom, err := jdk.Project(of.project)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	if err := output(ctx, pom, "mvn", "-q", "-B", "dependency:copy-dependencies"); err != nil {
		return nil, err
	}
	p := &Program{jars: filepath.Join(pom, "target", "lib"), Name: of.group + ":" + of.jar}
	if p.dir, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return nil, err
	}
	if err := p.compile(ctx, of.folder); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	jars, err := filepath.Glob(filepath.Join(p.jars, of.jar+"-*.jar"))
	if err == nil && len(jars) > 0 {
		p.Version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), of.jar+"-"), ".jar")
	}
	return p, nil
}

func (p *Program) compile(ctx context.Context, library string) error {
	if err := os.CopyFS(p.dir, sources); err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, "javac", "-version").CombinedOutput()
	if err != nil {
		return err
	}
	p.Java = strings.TrimSpace(string(version))
	files, err := filepath.Glob(filepath.Join(p.dir, library, "*.java"))
	if err != nil {
		return err
	}
	for _, common := range []string{"Load.java", "Handle.java", "Peer.java"} {
		files = append(files, filepath.Join(p.dir, common))
	}
	return output(ctx, p.dir, "javac", append([]string{"-cp", filepath.Join(p.jars, "*"), "-d", p.dir}, files...)...)
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
