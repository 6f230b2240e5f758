package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// found is a subject on this machine.
type found struct {
	version string // as it says itself
	program string // "": what the tests run on anyway
}

const serversVariable = "HOLDFAST_SERVERS_DIR"

// A server is a program that tests run on.
type server struct {
	name    string // of its folder, without the last part of the version: redis-7.2
	program string // below the folder
	script  []string
}

// find looks for the server in the folder of the caller's choice, and then asks its script.
func (s server) find() (found, error) {
	program, err := s.located()
	if err != nil {
		return found{}, err
	}
	said, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil {
		return found{}, fmt.Errorf("%s --version: %w: %s", s.name, err, last(string(said)))
	}
	return found{version: version(string(said)), program: program}, nil
}

func (s server) located() (program string, err error) {
	program, err = s.given(os.Getenv(serversVariable))
	if err == nil && program == "" {
		program, err = s.fetched()
	}
	return program, err
}

var jarName = regexp.MustCompile(`^(zookeeper)-(\d.*)\.jar$`)

// findJar is find for a program that is a folder of jars, one of which has the version in its name.
func (s server) findJar() (found, error) {
	pattern, err := s.located()
	if err != nil {
		return found{}, err
	}
	jars, err := filepath.Glob(pattern)
	if err != nil {
		return found{}, err
	}
	for _, jar := range jars {
		if of := jarName.FindStringSubmatch(filepath.Base(jar)); of != nil {
			return found{version: "ZooKeeper " + of[2], program: jar}, nil
		}
	}
	return found{}, fmt.Errorf("%s: there is no jar of this name", pattern)
}

// given returns the program in a folder of a folder; "" if there is none.
func (s server) given(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", serversVariable, err)
	}
	for _, folder := range slices.Backward(folders) {
		// redis-7.2 and redis-7.2.6 are meant, redis-7.20 is not.
		rest, is := strings.CutPrefix(folder.Name(), s.name)
		if is && (rest == "" || rest[0] == '.') {
			return filepath.Join(dir, folder.Name(), s.program), nil
		}
	}
	return "", nil
}

// fetched returns the program of which the script says where it is.
func (s server) fetched() (string, error) {
	if s.script == nil {
		return "", fmt.Errorf("no package has it; %s may name a folder that has %s.x/%s",
			serversVariable, s.name, s.program)
	}
	var said strings.Builder
	script := exec.Command(s.script[0], s.script[1:]...)
	script.Stderr = &said
	lines, err := script.Output()
	if err != nil {
		return "", errors.New(last(said.String()))
	}
	return s.told(string(lines))
}

// told returns the program that a script names: after the name of a server, or alone on its line, and itself or the
// folder that has it.
func (s server) told(lines string) (string, error) {
	for line := range strings.Lines(lines) {
		name, path, both := strings.Cut(strings.TrimSpace(line), " ")
		if !both {
			path = name
		} else if !strings.HasPrefix(name, s.name) {
			continue
		}
		if base := filepath.Base(s.program); filepath.Base(path) != base {
			path = filepath.Join(path, base)
		}
		return path, nil
	}
	return "", fmt.Errorf("%s printed no %s", s.script[0], s.name)
}

// last returns the last line of a text.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// installed finds what the tests run on anyway, of which a script says what it is.
func installed(script string) func() (found, error) {
	return func() (found, error) {
		said, err := exec.Command(script).CombinedOutput()
		if err != nil {
			return found{}, errors.New(last(string(said)))
		}
		return found{version: version(string(said))}, nil
	}
}

var banners = []*regexp.Regexp{
	regexp.MustCompile(`(Redis|Valkey) server v=(\S+)`), regexp.MustCompile(`\((PostgreSQL)\) (\S+)`),
	regexp.MustCompile(`(etcd) Version: (\S+)`), regexp.MustCompile(`(go) version go(\S+)`),
}

// version is what a program says of itself, without what else it says.
func version(said string) string {
	for _, banner := range banners {
		if of := banner.FindStringSubmatch(said); of != nil {
			return of[1] + " " + of[2]
		}
	}
	return last(said)
}
