package plot

import (
	"fmt"
	"math"
	"strings"
)

// Point is one measured pair.
type Point struct{ X, Y float64 }

// Curve is what one figure does while something grows.
type Curve struct {
	Label  string
	Points []Point
}

// Chart draws curves. What grows does so by factors, so that axis is logarithmic.
type Chart struct {
	Title, X, Y string
	Curves      []Curve
	LogY        bool
}

const (
	chartWidth, chartHeight          = 720, 380
	left, right, top, bottom float64 = 78, 24, 64, 52
	plotRight, plotBottom            = chartWidth - right, chartHeight - bottom
	plotWidth, plotHeight            = plotRight - left, plotBottom - top
	legendStep                       = 150
)

// SVG draws the chart.
func (h Chart) SVG() string {
	c := newCanvas(chartWidth, chartHeight)
	c.text(12, 24, 16, "start", "600", h.Title)
	x, y := h.axes()
	for _, tick := range x.ticks {
		at := left + plotWidth*x.at(tick)
		c.line(at, top, at, plotBottom, "2 4")
		c.text(at, plotBottom+18, 11, "middle", "400", short(tick))
	}
	for _, tick := range y.ticks {
		at := plotBottom - plotHeight*y.at(tick)
		c.line(left, at, plotRight, at, "2 4")
		c.text(left-8, at+4, 11, "end", "400", short(tick))
	}
	c.line(left, plotBottom, plotRight, plotBottom, "")
	c.line(left, top, left, plotBottom, "")
	c.text(left+plotWidth/2, chartHeight-10, 12, "middle", "400", h.X)
	c.text(12, 44, 12, "start", "400", h.Y)
	for i, curve := range h.Curves {
		h.draw(c, curve, i%len(palette), x, y)
		lx := chartWidth - right - float64(len(h.Curves)-i)*legendStep
		c.rect(lx, 34, 12, 12, palette[i%len(palette)])
		c.text(lx+18, 44, 12, "start", "400", curve.Label)
	}
	return c.close()
}

func (h Chart) draw(c *canvas, curve Curve, look int, x, y axis) {
	var path strings.Builder
	colour := palette[look]
	for _, p := range curve.Points {
		px, py := left+plotWidth*x.at(p.X), plotBottom-plotHeight*y.at(p.Y)
		if path.Len() > 0 {
			path.WriteByte(' ')
		}
		fmt.Fprintf(&path, "%.1f,%.1f", px, py)
		fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px, py, colour)
	}
	fmt.Fprintf(c, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>`+"\n",
		path.String(), colour, dashes[look])
}

// axis maps values to a share of its length.
type axis struct {
	at    func(v float64) float64
	ticks []float64
}

func (h Chart) axes() (x, y axis) {
	var xs, ys []float64
	for _, curve := range h.Curves {
		for _, p := range curve.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	x = logAxis(xs, false)
	if h.LogY {
		return x, logAxis(ys, true)
	}
	return x, linearAxis(ys)
}

// logAxis has a tick at every value that was measured, or at the powers of ten.
func logAxis(values []float64, powers bool) axis {
	least, greatest := math.Inf(1), 0.0
	seen := map[float64]bool{}
	var ticks []float64
	for _, v := range values {
		if !(v > 0) {
			continue
		}
		least, greatest = min(least, v), max(greatest, v)
		if !seen[v] && !powers {
			ticks = append(ticks, v)
		}
		seen[v] = true
	}
	if powers {
		least = math.Pow(10, math.Floor(math.Log10(least)))
		greatest = math.Pow(10, math.Ceil(math.Log10(greatest)))
		for v := least; v <= greatest*1.01; v *= 10 {
			ticks = append(ticks, v)
		}
	}
	width := math.Log(greatest / least)
	return axis{ticks: ticks, at: func(v float64) float64 {
		if width == 0 || !(v > 0) {
			return 0
		}
		return math.Log(v/least) / width
	}}
}

// linearAxis begins at 0 and has about five ticks at round values.
func linearAxis(values []float64) axis {
	greatest := 0.0
	for _, v := range values {
		if v > greatest {
			greatest = v
		}
	}
	step := niceStep(greatest / 5)
	end := step * math.Ceil(greatest/step)
	if end == 0 || math.IsNaN(end) {
		end, step = 1, 1
	}
	var ticks []float64
	for i := 0; float64(i)*step <= end*1.001; i++ {
		ticks = append(ticks, float64(i)*step)
	}
	return axis{ticks: ticks, at: func(v float64) float64 { return v / end }}
}

// niceStep is the least of 1, 2, 5, 10, 20, … (and of their tenths) that is not below v.
func niceStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= v*(1-1e-9) {
			return factor * power
		}
	}
	return 10 * power
}

// short writes a tick: 1500 as 1.5k, but 1024 as it is.
func short(v float64) string {
	switch {
	case v < 1e4 && v > 1e3 && math.Mod(v, 100) != 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 1e6:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3gk", v/1e3)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}
