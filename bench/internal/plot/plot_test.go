package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// elements reads a drawing as XML, which fails if it is none, and returns the attributes of each kind
// of element.
func elements(t *testing.T, svg string) map[string][]map[string]string {
	t.Helper()
	found := map[string][]map[string]string{}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attributes := map[string]string{}
		for _, a := range start.Attr {
			attributes[a.Name.Local] = a.Value
		}
		found[start.Name.Local] = append(found[start.Name.Local], attributes)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return v
}

func TestBarsAreAsLongAsTheirSizes(t *testing.T) {
	svg := BarChart{Title: "a < b & c", Unit: "per s", Bars: []Bar{
		{Label: "ours", Value: "40", Size: 40, Kind: Own},
		{Label: "peer", Value: "10", Size: 10},
		{Label: "none", Value: "–", Size: math.NaN()},
	}}.SVG()
	bars := elements(t, svg)["rect"]
	require.Len(t, bars, 3)
	ours, peer := number(t, bars[0]["width"]), number(t, bars[1]["width"])
	require.InDelta(t, 4.0, ours/peer, 0.05)
	require.InDelta(t, barsWidth-labelWidth-valueWidth, ours, 0.1, "the longest takes the room there is")
	require.Equal(t, "1.0", bars[2]["width"], "what is not known is a stroke")
	require.Equal(t, ownColour, bars[0]["fill"])
	require.Contains(t, svg, "a &lt; b &amp; c")
}

func TestBarsByPowersOfTen(t *testing.T) {
	bars := elements(t, BarChart{Log: true, Bars: []Bar{{Size: 1}, {Size: 10}, {Size: 100}}}.SVG())["rect"]
	one, ten, hundred := number(t, bars[0]["width"]), number(t, bars[1]["width"]), number(t, bars[2]["width"])
	require.InDelta(t, ten-one, hundred-ten, 0.2, "equal factors are equal lengths")
	require.Positive(t, one)
}

func TestCurvesGoThroughTheirPoints(t *testing.T) {
	found := elements(t, Chart{Title: "t", X: "names", Y: "per s", Curves: []Curve{
		{Label: "one", Points: []Point{{1, 0}, {10, 50}, {100, 100}}},
		{Label: "two", Points: []Point{{1, 100}}},
	}}.SVG())
	dots := found["circle"]
	require.Len(t, dots, 4)
	require.Len(t, found["polyline"], 2)
	require.InDelta(t, left, number(t, dots[0]["cx"]), 0.1)
	require.InDelta(t, plotBottom, number(t, dots[0]["cy"]), 0.1)
	require.InDelta(t, left+plotWidth/2, number(t, dots[1]["cx"]), 0.1, "factors are lengths on the x axis")
	require.InDelta(t, top+plotHeight/2, number(t, dots[1]["cy"]), 0.1)
	require.InDelta(t, plotRight, number(t, dots[2]["cx"]), 0.1)
	require.InDelta(t, top, number(t, dots[3]["cy"]), 0.1)
}

func TestAChartOfNothingIsStillAChart(t *testing.T) {
	for _, log := range []bool{false, true} {
		svg := Chart{LogY: log, Curves: []Curve{{Label: "none"}}}.SVG()
		require.NotEmpty(t, elements(t, svg)["svg"])
		require.NotContains(t, svg, "NaN")
	}
	require.NotContains(t, BarChart{Bars: []Bar{{Size: 0}}}.SVG(), "NaN")
}

func TestStepsAreRound(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.1: 2, 3: 5, 7: 10, 40: 50, 1234: 2000} {
		require.InDelta(t, want, niceStep(v), 1e-9, "%v", v)
	}
}

func TestTicksAreShort(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "0.5": 0.5, "250": 250, "1.5k": 1500, "1024": 1024, "20k": 20000, "3M": 3e6} {
		require.Equal(t, want, short(v))
	}
}
