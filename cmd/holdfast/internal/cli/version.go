package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// version is what a report of a bug needs: the version of the module, or the commit that was built, the Go that built
// it, and the system.
func version() string {
	parts := []string{"(unknown)"}
	if info, ok := debug.ReadBuildInfo(); ok {
		parts[0] = info.Main.Version
		settings := make(map[string]string)
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if commit := settings["vcs.revision"]; commit != "" && parts[0] == "(devel)" {
			parts = append(parts, commit)
			if settings["vcs.modified"] == "true" {
				parts = append(parts, "modified")
			}
		}
	}
	return strings.Join(append(parts, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH), " ")
}
