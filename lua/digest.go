package lua

import (
	"strings"
	"sync"
)

// SHA returns the digest by which Redis knows the script of that name ("acquire" for acquire.lua), as SCRIPT EXISTS
// expects it and a trace of a server's commands shows it. It panics if there is no such script.
func SHA(name string) string { return newScript(name).sha.(string) }

// ScriptName is the name of the script that a command with these arguments runs, by EVALSHA or EVAL: that of its file
// without ".lua". It is "" for any other command.
func ScriptName(args []any) string {
	if len(args) < 2 || args[0] != "evalsha" && args[0] != "eval" {
		return ""
	}
	return scriptNames()[args[1]]
}

// scriptNames leads from texts and digests to names. Few programs ask, so it is made when one does.
var scriptNames = sync.OnceValue(func() map[any]string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	names := make(map[any]string)
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".lua")
		if strings.HasPrefix(name, "fragment_") {
			continue
		}
		for _, s := range []script{newScript(name), *newScriptOfOne(name)} {
			names[s.sha], names[s.source] = name, name
		}
	}
	return names
})
