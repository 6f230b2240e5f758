package lua

// SHA returns the digest by which Redis knows the script of that name ("acquire" for acquire.lua), as SCRIPT EXISTS
// expects it and a trace of a server's commands shows it. It panics if there is no such script.
func SHA(name string) string { return newScript(name).sha.(string) }
