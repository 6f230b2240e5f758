// Package plot draws: bars that compare, and curves that grow. What it returns is a whole SVG file that
// can be read on a light page and on a dark one.
package plot

import (
	"fmt"
	"strings"
)

const (
	font = `font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"`

	// Colours that keep apart on white, on black, and for most who see fewer of them.
	ownColour   = "#2f81f7"
	peerColour  = "#9198a1"
	floorColour = "#c9b37e"
	textColour  = "#57606a"
	pageColour  = "#ffffff"
	lineColour  = "#8b949e"
)

// Curves differ in their dashes as well: where two lie on each other, both are seen.
var (
	palette = []string{"#2f81f7", "#d9822b", "#986ee2", "#57ab5a"}
	dashes  = []string{"", "9 5", "3 4", "1 5"}
)

// canvas gathers what is drawn.
type canvas struct {
	strings.Builder
}

// style turns text and ground together. A ground is drawn because the page may be dark where the reader's
// system is light: text that followed the system would then stand on what it was not made for.
const style = `<style>text{fill:` + textColour + `}path{fill:` + pageColour + `}` +
	`@media (prefers-color-scheme:dark){text{fill:#c9d1d9}path{fill:#0d1117}}</style>`

func newCanvas(width, height int) *canvas {
	c := &canvas{}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" %s>`,
		width, height, width, height, font)
	fmt.Fprintf(c, "\n%s\n"+`<path d="M0 0h%dv%dH0z"/>`+"\n", style, width, height)
	return c
}

func (c *canvas) text(x, y float64, size int, anchor, weight, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" font-weight="%s">%s</text>`+"\n",
		x, y, size, anchor, weight, escape(text))
}

func (c *canvas) rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s"/>`+"\n",
		x, y, width, height, colour)
}

func (c *canvas) line(x1, y1, x2, y2 float64, dash string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="1" `+
		`stroke-opacity="0.5" stroke-dasharray="%s"/>`+"\n", x1, y1, x2, y2, lineColour, dash)
}

func (c *canvas) close() string {
	c.WriteString("</svg>\n")
	return c.String()
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(text string) string { return escaper.Replace(text) }
