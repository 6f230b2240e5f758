package lock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/holdfast-go/holdfast/"

// general are the packages that serve every store: what callers hold, the making of a client, the engine and its rules,
// and the contract as a test suite.
var general = []string{
	"lock", "multilock", "leader", "watchdog",
	"internal/client", "internal/handle", "internal/vocabulary", "internal/engine", "internal/hold", "internal/localqueue",
	"internal/legible", "internal/request", "internal/serverclock", "internal/store", "internal/memstore",

	// What the tests of every store use.
	"internal/testkit/conformance", "internal/testkit/etcdtest", "internal/testkit/pgtest", "internal/testkit/role",
	"internal/testkit/servers", "internal/testkit/stamp", "internal/testkit/turns", "internal/testkit/witness",
	"internal/testkit/zktest",
}

// A lock on one store must not link the client of another: what serves every store imports no database.
func TestNoDatabaseIsImported(t *testing.T) {
	for _, of := range general {
		out, err := exec.Command("go", "list", "-deps", module+of).Output()
		require.NoError(t, err)
		for dep := range strings.FieldsSeq(string(out)) {
			for _, client := range []string{"go-redis", "jackc", "go.etcd.io"} {
				require.NotContains(t, dep, client, of)
			}
			for _, redis := range []string{
				"lua", "rlock", "internal/redisstore/links", "internal/redisstore/pipeline", "internal/redisstore/wake", "internal/redisstore",
				"internal/redisclient",
			} {
				require.NotEqual(t, module+redis, dep, of)
			}
		}
	}
}

// Errors and log lines are true of every store: the store says its name, and no text of these packages has one.
func TestNoTextNamesADatabase(t *testing.T) {
	for _, of := range general {
		files, err := filepath.Glob("../" + of + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files, of)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if _, imported := n.(*ast.ImportSpec); imported {
					return false
				}
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					for _, store := range []string{"redis", "postgres", "etcd"} {
						if store == "redis" || !strings.HasPrefix(of, "internal/testkit/") {
							require.NotContains(t, strings.ToLower(text.Value), store, name)
						}
					}
					require.NotContains(t, text.Value, "rlock: ", name)
				}
				return true
			})
		}
	}
}
