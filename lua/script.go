package lua

import (
	"crypto/fips140"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
)

//go:embed *.lua
var files embed.FS

// include starts the line of a script that is replaced by a fragment.
const include = "--!include "

// Script returns the script of that name, "acquire" for acquire.lua: its text as it is sent, and the digest by which
// Redis knows it, as SCRIPT EXISTS expects it and a trace of a server's commands shows it. It panics if there is none.
func Script(name string) (source, sha string) { return sent(expand(name + ".lua")) }

// ScriptOfOne is the script of that name, written for any number of keys, adapted to one key.
func ScriptOfOne(name string) (source, sha string) {
	return sent(strings.ReplaceAll(expand(name+".lua"), "KEYS[i]", "KEYS[1]"))
}

// Names are the names of all scripts, in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "fragment_") {
			names = append(names, strings.TrimSuffix(entry.Name(), ".lua"))
		}
	}
	return names
}

// sent is what is sent of an expanded text.
//
// The digest is SHA-1 because Redis names scripts by it. It protects nothing, so a process in which only approved
// algorithms are allowed (GODEBUG=fips140=only) is still to have it: without this exception, the packages that prepare
// scripts would panic in their initialisation.
func sent(text string) (source, sha string) {
	source = literalKeys(text)
	var digest [sha1.Size]byte
	fips140.WithoutEnforcement(func() { digest = sha1.Sum([]byte(source)) })
	return source, hex.EncodeToString(digest[:])
}

// literalKeys replaces the names that a script gives to its keys by KEYS[n], and drops the assignments. Some
// hosted servers look for the keys of a call in the text of the script, and refuse keys held in variables.
func literalKeys(text string) string {
	keys := make(map[string]string)
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(replaceNames(takeNames(line, keys), keys))
	}
	return b.String()
}

// takeNames records which names a line gives to keys, and returns the rest of the line.
func takeNames(line string, keys map[string]string) string {
	list, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "local ")
	left, right, assigns := strings.Cut(list, " = ")
	if !ok || !assigns || !strings.Contains(right, "KEYS[") {
		return line
	}
	names, values := strings.Split(left, ", "), strings.Split(right, ", ")
	if len(names) != len(values) {
		return line // a call, with commas of its own
	}
	var others, theirs []string
	for i, name := range names {
		if isKey(values[i]) {
			keys[name] = values[i]
			continue
		}
		others, theirs = append(others, name), append(theirs, values[i])
	}
	if len(others) == 0 {
		return ""
	}
	return "local " + strings.Join(others, ", ") + " = " + strings.Join(theirs, ", ") + "\n"
}

// isKey reports that an expression is KEYS[n], with a number.
func isKey(expression string) bool {
	n, ok := strings.CutPrefix(expression, "KEYS[")
	n, closed := strings.CutSuffix(n, "]")
	return ok && closed && n != "" && strings.Trim(n, "0123456789") == ""
}

// replaceNames replaces the names of keys by the keys. It leaves strings and fields of tables alone.
func replaceNames(line string, keys map[string]string) string {
	for at := 0; at < len(line); {
		end := at + 1
		switch c := line[at]; {
		case c == '\'':
			end += max(strings.IndexByte(line[end:], '\'')+1, 0)
		case inName(c):
			for end < len(line) && inName(line[end]) {
				end++
			}
			if key, ok := keys[line[at:end]]; ok && (at == 0 || line[at-1] != '.') {
				line = line[:at] + key + line[end:]
				end = at + len(key)
			}
		}
		at = end
	}
	return line
}

func inName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// expand returns the text of a file with its fragments inserted, and without the lines that are only for
// readers. It does not know Lua's long strings and long comments; the scripts have none, and a test checks that.
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
