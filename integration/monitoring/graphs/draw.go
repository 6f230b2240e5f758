package main

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

const (
	columns           = 2
	width, height     = 480, 250
	left, right       = 56, 14
	top, legendHeight = 34, 52
	plotWidth         = width - left - right
	plotHeight        = height - top - legendHeight - 20
	legendColumns     = 2
	mostCurves        = 8 // more would not fit below the graph
)

var palette = []string{"#3366cc", "#dc3912", "#ff9900", "#109618", "#990099", "#0099c6", "#dd4477", "#66aa00"}

// draw returns a picture of the panels as SVG.
func draw(panels []panel, span time.Duration) string {
	var b strings.Builder
	rows := (len(panels) + columns - 1) / columns
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"`, columns*width, rows*height)
	b.WriteString(` font-family="sans-serif" font-size="11">` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*width, i/columns*height)
		p.draw(&b, span)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p panel) draw(b *strings.Builder, span time.Duration) {
	text := func(x, y float64, anchor, what string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="#333">%s</text>`+"\n",
			x, y, anchor, html.EscapeString(what))
	}
	fmt.Fprintf(b, `<text x="%d" y="20" font-weight="600" font-size="13">%s</text>`+"\n",
		left, html.EscapeString(p.Title))
	highest := p.highest()
	for _, share := range []float64{0, .5, 1} {
		y := top + plotHeight*(1-share)
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, width-right, y, y)
		text(left-6, y+4, "end", p.value(highest*share))
		text(left+plotWidth*share, top+plotHeight+14, "middle",
			(-span + time.Duration(float64(span)*share)).Round(time.Second).String())
	}
	for i, c := range p.curves[:min(mostCurves, len(p.curves))] {
		colour := palette[i%len(palette)]
		var points []string
		for _, point := range c.points {
			points = append(points, fmt.Sprintf("%.1f,%.1f",
				left+plotWidth*point[0]/span.Seconds(), top+plotHeight*(1-point[1]/highest)))
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n",
			strings.Join(points, " "), colour)
		x := left + float64(i%legendColumns)*plotWidth/legendColumns
		y := top + plotHeight + 30 + float64(i/legendColumns)*13
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="9" height="9" fill="%s"/>`+"\n", x, y-8, colour)
		text(x+13, y, "start", c.name)
	}
}

// highest returns the upper end of the axis: a round number that no value exceeds.
func (p panel) highest() float64 {
	most := 0.0
	for _, c := range p.curves {
		for _, point := range c.points {
			most = max(most, point[1])
		}
	}
	if most == 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{1, 2, 5} {
		if most <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}

func (p panel) value(v float64) string {
	if p.FieldConfig.Defaults.Unit == "s" {
		return time.Duration(v * float64(time.Second)).Round(10 * time.Microsecond).String()
	}
	s := fmt.Sprintf("%.3g", v)
	if p.FieldConfig.Defaults.Unit == "ops" {
		s += "/s"
	}
	return s
}
