// Package pages brings the parts of pages up to date that commands and tests write: what was measured, and found.
package pages

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Show replaces what a page has between the lines <!-- mark --> and <!-- /mark -->. The rest of the page stays.
func Show(page, mark, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return fmt.Errorf("%s has no place for what was found: it needs the lines %q and %q", page,
			strings.TrimSpace(begin), end)
	}
	return os.WriteFile(page, []byte(before+begin+text+end+after), 0o644)
}

// Number is a number as pages have it, with a comma between each three digits.
func Number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
