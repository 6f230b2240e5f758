package plot

import "math"

// Kind is what a bar stands for, and decides its colour.
type Kind int

// The kinds.
const (
	Peer Kind = iota
	Own
	Floor
)

// Bar is one value.
type Bar struct {
	Label, Value string // Value is how Size is written
	Size         float64
	Kind         Kind
}

// BarChart compares values.
type BarChart struct {
	Title, Unit string
	Bars        []Bar
	Log         bool // by powers of ten: for values that are far apart
}

const (
	barsWidth  = 720
	labelWidth = 190
	valueWidth = 90
	barHeight  = 22
	barGap     = 8
	headHeight = 56
)

// SVG draws the chart, a line for each bar.
func (b BarChart) SVG() string {
	height := headHeight + len(b.Bars)*(barHeight+barGap) + 12
	c := newCanvas(barsWidth, height)
	c.text(12, 24, 16, "start", "600", b.Title)
	c.text(12, 44, 12, "start", "400", b.Unit)
	room := float64(barsWidth - labelWidth - valueWidth)
	scale := b.scale()
	for i, bar := range b.Bars {
		y := float64(headHeight + i*(barHeight+barGap))
		width := max(room*scale(bar.Size), 1)
		weight := "400"
		if bar.Kind == Own {
			weight = "600"
		}
		c.text(labelWidth-8, y+barHeight*0.7, 13, "end", weight, bar.Label)
		c.rect(labelWidth, y, width, barHeight, colour(bar.Kind))
		c.text(labelWidth+width+6, y+barHeight*0.7, 13, "start", weight, bar.Value)
	}
	return c.close()
}

func colour(k Kind) string {
	switch k {
	case Own:
		return ownColour
	case Floor:
		return floorColour
	default:
		return peerColour
	}
}

// scale maps a size to a share of the room. With powers of ten, the least bar is as long as a tenth.
func (b BarChart) scale() func(float64) float64 {
	least, greatest := math.Inf(1), 0.0
	for _, bar := range b.Bars {
		if bar.Size > 0 {
			least, greatest = min(least, bar.Size), max(greatest, bar.Size)
		}
	}
	return func(size float64) float64 {
		switch {
		case !(size > 0): // NaN as well
			return 0
		case !b.Log || least == greatest:
			return size / greatest
		}
		return 0.1 + 0.9*math.Log(size/least)/math.Log(greatest/least)
	}
}
