package lua

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

//go:embed *.lua
var files embed.FS

// include starts the line of a script that stands for a fragment.
const include = "--!include "

// script is the text of one Lua script and the digest by which Redis knows it. Both are
// kept as any: they go into argument lists, and boxing them once saves an allocation per
// call.
type script struct {
	source any
	sha    any
}

// newScript reads the script of that name. It panics if there is none: the files are part
// of the program, and the first test that imports the package finds it out.
func newScript(name string) script {
	source := expand(name + ".lua")
	digest := sha1.Sum([]byte(source))
	return script{source: source, sha: hex.EncodeToString(digest[:])}
}

// expand returns the text of a file with its fragments put in, and without the lines that
// are only there for readers. It knows nothing of Lua's long strings and long comments;
// the scripts have none, and a test keeps it so.
func expand(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err))
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch fragment, found := strings.CutPrefix(line, include); {
		case found:
			b.WriteString(expand("fragment_" + fragment + ".lua"))
		case line == "" || strings.HasPrefix(line, "--"):
		default:
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
