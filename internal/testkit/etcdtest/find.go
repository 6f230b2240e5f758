package etcdtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// folder is where the programs are, which the script builds if they are missing.
var folder = sync.OnceValues(func() (string, error) { return servers.RunScript("setup-etcd.sh") })

// Program returns the path of etcd, etcdctl or etcdutl.
func Program(name string) (string, error) {
	dir, err := folder()
	if err != nil {
		return "", fmt.Errorf("there is no etcd, and none can be built: %w", err)
	}
	return exec.LookPath(filepath.Join(dir, name))
}

var versionLine = regexp.MustCompile(`etcd Version: (\S+)`)

// distributions returns the etcd on PATH, which is that of the system's package manager, and its version. It is
// installed if it is missing.
func distributions() (path, version string, err error) {
	if path, err = exec.LookPath("etcd"); err != nil {
		_, failed := servers.RunScript("install.sh", "etcd")
		if path, err = exec.LookPath("etcd"); err != nil {
			return "", "", fmt.Errorf("the system's package manager installs no etcd (%v): install it by hand", failed)
		}
	}
	version, err = versionOf(path)
	return path, version, err
}

// Version returns the version of the etcd that [Start] starts. An error says why there is none.
func Version() (string, error) {
	path, err := Program("etcd")
	if err != nil {
		return "", err
	}
	return versionOf(path)
}

func versionOf(path string) (string, error) {
	said, err := exec.Command(path, "--version").Output()
	found := versionLine.FindSubmatch(said)
	if err != nil || found == nil {
		return "", fmt.Errorf("%s --version does not tell its version", path)
	}
	return string(found[1]), nil
}
