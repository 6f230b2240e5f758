package recording

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// series is what was recorded of one series.
type series struct {
	name    string
	samples []float64
}

// values are the samples in promtool's notation: 0+3x4 is a zero and four more samples, each by three higher.
func (s series) values() string {
	var b strings.Builder
	for i := 0; i < len(s.samples); {
		if i > 0 {
			b.WriteByte(' ')
		}
		end, step := s.run(i)
		switch v := s.samples[i]; {
		case math.IsNaN(v):
			fmt.Fprintf(&b, "_x%d", end-i)
		case end-i == 1:
			b.WriteString(number(v))
		case step == 0:
			fmt.Fprintf(&b, "%sx%d", number(v), end-i-1)
		case step < 0:
			fmt.Fprintf(&b, "%s-%sx%d", number(v), number(-step), end-i-1)
		default:
			fmt.Fprintf(&b, "%s+%sx%d", number(v), number(step), end-i-1)
		}
		i = end
	}
	return b.String()
}

// run returns where the samples from begin on no longer change by the same step, or where those end that are absent.
func (s series) run(begin int) (end int, step float64) {
	first := s.samples[begin]
	end = begin + 1
	if end < len(s.samples) {
		step = s.samples[end] - first
	}
	for ; end < len(s.samples); end++ {
		v := s.samples[end]
		if bothAbsent := math.IsNaN(first) && math.IsNaN(v); !bothAbsent && v-s.samples[end-1] != step {
			break
		}
	}
	return end, step
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
