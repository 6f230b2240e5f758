package servers

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Account is whom a server runs as that refuses to be root: the first of these users that there is. It is nil if the
// tests do not run as root.
func Account(names ...string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	var errs []error
	for _, name := range names {
		of, err := user.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, uidErr := strconv.ParseUint(of.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(of.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("the server refuses to run as root, and its user is missing: %w", errors.Join(errs...))
}

// Folder makes a folder for a server that runs as that account. The folders of package testing are of this user alone.
func Folder(prefix string, as *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil || as == nil {
		return dir, err
	}
	if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}
