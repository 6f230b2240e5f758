// Package pages brings the parts of pages up to date that commands and tests write: what was measured, and found. A
// part stands between the lines <!-- mark --> and <!-- /mark -->.
package pages

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Show replaces a part of a page. The rest of the page stays.
func Show(page, mark, text string) error {
	before, _, after, err := cut(page, mark)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+text+after), 0o644)
}

// Shown is a part of a page.
func Shown(page, mark string) (text string, err error) {
	_, text, _, err = cut(page, mark)
	return text, err
}

// cut reads a page as a part and what stands before it and after it, which includes the lines around it.
func cut(page, mark string) (before, part, after string, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", "", "", err
	}
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	part, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return "", "", "", fmt.Errorf("%s has no place for what was found: it needs the lines %q and %q", page,
			strings.TrimSpace(begin), end)
	}
	return before + begin, part, end + after, nil
}

// Number is a number as pages have it, with a comma between each three digits.
func Number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
