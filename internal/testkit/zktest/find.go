package zktest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// Oldest is the oldest version that the tests run, for [Options].
const Oldest = "3.8.0"

// folders has where the jars are of each version that was asked for.
var folders struct {
	sync.Mutex // guards of, and lets one caller at a time fetch a version
	of         map[string]string
}

// jars returns the folder of the jars of a version, "" for the default, which the script fetches if it is missing.
func jars(version string) (string, error) {
	folders.Lock()
	defer folders.Unlock()
	if dir := folders.of[version]; dir != "" {
		return dir, nil
	}
	var wanted []string
	if version != "" {
		wanted = []string{version}
	}
	dir, err := servers.RunScript("setup-zookeeper.sh", wanted...)
	if err != nil {
		return "", fmt.Errorf("there is no ZooKeeper, and none can be fetched: %w", err)
	}
	if folders.of == nil {
		folders.of = make(map[string]string)
	}
	folders.of[version] = dir
	return dir, nil
}

var jarName = regexp.MustCompile(`^zookeeper-(\d[^/]*)\.jar$`)

// Version returns the version of the servers that are started where [Options] name none. An error says why there are
// none.
func Version() (string, error) {
	dir, err := jars("")
	if err != nil {
		return "", err
	}
	all, err := filepath.Glob(filepath.Join(dir, "zookeeper-*.jar"))
	if err != nil {
		return "", err
	}
	for _, jar := range all {
		if found := jarName.FindStringSubmatch(filepath.Base(jar)); found != nil {
			return found[1], nil
		}
	}
	return "", fmt.Errorf("no jar in %s tells its version", dir)
}

// java returns the path of the Java runtime.
func java() (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("there is no java on PATH (scripts/setup-java.sh installs one): %w", err)
	}
	return path, nil
}
