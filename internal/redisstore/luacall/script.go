package luacall

import (
	"fmt"
	"sync"

	"github.com/holdfast-go/holdfast/lua"
)

// script is the text of one Lua script and the digest by which Redis knows it. Both are kept as any: they go into
// argument lists, and boxing them once saves an allocation per call.
type script struct {
	source any
	sha    any
}

// newScript is the script of that name. It panics if there is none: the files are part of the program, so the first
// test that imports the package detects it.
func newScript(name string) script {
	source, sha := lua.Script(name)
	return script{source: source, sha: sha}
}

// newScriptOfOne is the script of that name, written for any number of keys, adapted to one key.
func newScriptOfOne(name string) *script {
	source, sha := lua.ScriptOfOne(name)
	return &script{source: source, sha: sha}
}

// SHA is the digest of the script of that name.
func SHA(name string) string {
	_, sha := lua.Script(name)
	return sha
}

// ScriptName is the name of the script that a command with these arguments runs, by EVALSHA or EVAL. It is "" for any
// other command.
func ScriptName(args []any) string {
	if len(args) < 2 || args[0] != "evalsha" && args[0] != "eval" {
		return ""
	}
	if text, ok := args[1].(fmt.Stringer); ok { // on its way through the pipe
		return scriptNames()[text.String()]
	}
	return scriptNames()[args[1]]
}

// scriptNames leads from texts and digests to names. Few programs ask, so it is made when one does.
var scriptNames = sync.OnceValue(func() map[any]string {
	names := make(map[any]string)
	for _, name := range lua.Names() {
		for _, s := range []script{newScript(name), *newScriptOfOne(name)} {
			names[s.sha], names[s.source] = name, name
		}
	}
	return names
})
