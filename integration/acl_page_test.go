package integration_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aclPage is what the page for operators says: for each heading, the rights, and those of them that are optional.
type aclPage struct {
	rights, optional map[string][]string
}

// isOptional reports whether the page says what happens without a right: under the heading, or above the first one for
// all locks. "&..." stands for all channels.
func (p *aclPage) isOptional(heading, right string) bool {
	listed := p.optional[heading]
	if slices.Contains(p.rights[heading], "+evalsha") {
		listed = slices.Concat(listed, p.optional[""])
	}
	return slices.Contains(listed, right) || right[0] == '&' && slices.Contains(listed, "&...")
}

var (
	aclBlock = regexp.MustCompile("(?s)```text\nACL SETUSER \\w+ (.*?)```")
	aclRow   = regexp.MustCompile("(?m)^\\| ([^`|]*`.*?) \\| ")
	aclRight = regexp.MustCompile("`([~&+][^`]*)`") // of a row
)

// readACLPage reads the page, so that what is proved here is what people copy. The rows of a table name what is
// optional; those above the first kind, what is optional for every kind.
func readACLPage(t *testing.T) aclPage {
	t.Helper()
	text, err := os.ReadFile("../docs/acl.md")
	require.NoError(t, err)
	page := aclPage{make(map[string][]string), make(map[string][]string)}
	for i, section := range strings.Split(string(text), "\n## ") {
		heading, body, _ := strings.Cut(section, "\n")
		if i == 0 {
			heading = ""
		}
		if block := aclBlock.FindStringSubmatch(body); block != nil {
			for _, word := range strings.Fields(block[1]) {
				if word != "on" && word != ">secret" {
					page.rights[heading] = append(page.rights[heading], word)
				}
			}
		}
		for _, row := range aclRow.FindAllStringSubmatch(body, -1) {
			for _, right := range aclRight.FindAllStringSubmatch(row[1], -1) {
				right := strings.ReplaceAll(right[1], `\|`, "|")
				page.optional[heading] = append(page.optional[heading], right)
			}
		}
	}
	return page
}

var (
	aclInclude = regexp.MustCompile(`(?m)^\s*--!include (\w+)$`)
	aclComment = regexp.MustCompile(`(?m)--.*$`)
	aclOthers  = regexp.MustCompile(`/(acquire_all|rw_.*|latch_.*)\.lua$`)
	aclCall    = regexp.MustCompile(`redis\.p?call\('(\w+)'`)
)

// aclScripts are the scripts of each kind of locks, as patterns of files.
var aclScripts = map[string]string{
	"rlock":    "[aiklmnr]*.lua", // but for those of multilock, rwlock and latch
	"fairlock": "fair_*.lua", "rwlock": "rw_*.lua", "semaphore": "permit_*.lua", "counting": "count_*.lua",
	"latch": "latch_*.lua", "multilock": "acquire_all.lua", "redlock": "quorum_*.lua", "fence": "guard.lua",
}

// What a script calls only in rare cases might not occur in the lives above: the page grants it all the same.
func TestTheRightsCoverWhateverAScriptCalls(t *testing.T) {
	t.Parallel()
	page := readACLPage(t)
	scripts := 0
	for heading, pattern := range aclScripts {
		files, err := filepath.Glob("../lua/" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			if heading == "rlock" && aclOthers.MatchString(file) {
				continue
			}
			scripts++
			for _, call := range aclCall.FindAllStringSubmatch(aclText(t, file), -1) {
				command := "+" + strings.ToLower(call[1])
				// After PEXPIRE was refused, which the page grants, DEL takes back what was written.
				if command == "+del" && !slices.Contains([]string{"fairlock", "rwlock"}, heading) {
					continue
				}
				require.Contains(t, page.rights[heading], command, "%s, for %s", file, heading)
			}
		}
	}
	require.Greater(t, scripts, 40)
}

// aclText is a script without comments, with its fragments.
func aclText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	whole := aclInclude.ReplaceAllStringFunc(string(text), func(line string) string {
		return aclText(t, "../lua/fragment_"+aclInclude.FindStringSubmatch(line)[1]+".lua")
	})
	return aclComment.ReplaceAllString(whole, "")
}
