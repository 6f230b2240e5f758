package consumer

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	root     = "../.."
	holdfast = "github.com/holdfast-go/holdfast"
)

// proxy serves the modules of the workspace as they are in the working tree.
type proxy struct {
	dir     string
	version string            // of all modules; it depends on all that is in them
	modules map[string]string // folders by path
	sums    []byte            // every line of every go.sum of the tree, so that no checksum has to be fetched
}

// published is the proxy of all tests. TestMain fills it before the first one.
var published *proxy

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "holdfast-proxy-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		published, err = publish(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "consumer:", err)
		return 1
	}
	defer published.forget()
	return m.Run()
}

// file is one of a module's, as the proxy serves it.
type file struct {
	name string
	text []byte
	info fs.FileInfo
}

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return sized{f.info, int64(len(f.text))}, nil }
func (f file) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.text)), nil }

// sized is what is known of a file that has another length in the tree.
type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

func publish(dir string) (*proxy, error) {
	p := &proxy{dir: dir, modules: make(map[string]string)}
	list := exec.Command("go", "list", "-m", "-f", "{{.Path}}={{.Dir}}")
	list.Dir = root
	lines, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	content := sha256.New()
	files := make(map[string][]file)
	for line := range strings.FieldsSeq(string(lines)) {
		path, dir, _ := strings.Cut(line, "=")
		p.modules[path] = dir
		read, err := read(dir)
		if err != nil {
			return nil, err
		}
		files[path] = read
		for _, f := range read {
			fmt.Fprintf(content, "%s/%s %d\n%s", path, f.name, len(f.text), f.text)
			if f.name == "go.sum" {
				p.sums = append(p.sums, f.text...)
			}
		}
	}
	p.version = fmt.Sprintf("v0.0.1-test.h%x", content.Sum(nil)[:6])
	for path, of := range files {
		if err := p.serve(path, of); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return p, nil
}

// read returns the files that belong to the module in dir.
func read(dir string) (files []file, err error) {
	checked, err := zip.CheckDir(dir)
	if err = errors.Join(err, checked.Err()); err != nil {
		return nil, err
	}
	for _, name := range checked.Valid {
		info, err := os.Lstat(name)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{filepath.ToSlash(inside), text, info})
	}
	return files, nil
}

// serve writes what a proxy answers for a module.
func (p *proxy) serve(path string, files []file) error {
	at := filepath.Join(p.dir, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	zipped := make([]zip.File, len(files))
	for i, f := range files {
		if f.name == "go.mod" {
			text, err := p.released(f.text)
			if err != nil {
				return err
			}
			f.text = text
			if err := os.WriteFile(filepath.Join(at, p.version+".mod"), text, 0o666); err != nil {
				return err
			}
		}
		zipped[i] = f
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, p.version)
	if err := os.WriteFile(filepath.Join(at, p.version+".info"), []byte(info), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, "list"), []byte(p.version+"\n"), 0o666); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(at, p.version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.Create(out, module.Version{Path: path, Version: p.version}, zipped), out.Close())
}

// released is a go.mod as in a release: it requires the siblings in the same version.
func (p *proxy) released(text []byte) ([]byte, error) {
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil, err
	}
	if len(mod.Replace) > 0 {
		return nil, errors.New("go.mod has a replace directive: go install refuses the module, and others ignore it")
	}
	for _, r := range mod.Require {
		if p.modules[r.Mod.Path] == "" {
			continue
		}
		if err := mod.AddRequire(r.Mod.Path, p.version); err != nil {
			return nil, err
		}
	}
	return mod.Format()
}

// environment makes go commands outside the tree use the proxy.
func (p *proxy) environment() []string {
	return append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GONOSUMDB="+holdfast,
		"GOPROXY=file://"+filepath.ToSlash(p.dir)+","+setting("GOPROXY"))
}

// setting is what the go command uses for a variable.
func setting(name string) string {
	value, err := exec.Command("go", "env", name).Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(value))
}

// forget removes our modules from the cache of modules, to which the go command copied them.
func (p *proxy) forget() {
	cache := setting("GOMODCACHE")
	for path := range p.modules {
		served := filepath.Join(cache, "cache", "download", filepath.FromSlash(path), "@v")
		copies, _ := filepath.Glob(filepath.Join(served, p.version+".*"))
		for _, name := range append(copies, filepath.Join(cache, filepath.FromSlash(path)+"@"+p.version)) {
			_ = os.RemoveAll(name) // what stays does no harm: the next tree has another version
		}
	}
}
