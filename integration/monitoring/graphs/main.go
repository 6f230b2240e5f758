// Command graphs draws the dashboard from the data of a Prometheus, for the pages:
//
//	go run ./integration/monitoring/graphs -prometheus http://localhost:9090 -range 2m -o docs/metrics.svg
//
// It takes the titles, the queries and the names of the series from deploy/grafana/holdfast.json.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shown are the panels that the picture has, by their titles.
var shown = []string{
	"Wait, 99th percentile", "Acquisitions", "Waiting", "Held", "Losses", "Renewals",
}

// steps is how many points a curve has at most.
const steps = 120

type panel struct {
	Title       string
	Targets     []target
	FieldConfig struct{ Defaults struct{ Unit string } }

	curves []curve
}

type target struct{ Expr, LegendFormat string }

// curve is one series: points of seconds since the begin, and a value.
type curve struct {
	name   string
	points [][2]float64
}

func main() {
	from := flag.String("prometheus", "http://localhost:9090", "the address of the Prometheus")
	span := flag.Duration("range", 2*time.Minute, "how long a time the picture shows")
	to := flag.String("o", "docs/metrics.svg", "the file to write")
	flag.Parse()
	if err := run(*from, *span, *to); err != nil {
		fmt.Fprintln(os.Stderr, "graphs:", err)
		os.Exit(1)
	}
}

func run(from string, span time.Duration, to string) error {
	text, err := os.ReadFile("deploy/grafana/holdfast.json")
	if err != nil {
		return err
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(text, &board); err != nil {
		return err
	}
	byTitle := make(map[string]panel)
	for _, p := range board.Panels {
		byTitle[p.Title] = p
	}
	end := time.Now()
	var drawn []panel
	for _, title := range shown {
		p, ok := byTitle[title]
		if !ok {
			return fmt.Errorf("the dashboard has no panel %q", title)
		}
		for _, t := range p.Targets {
			curves, err := t.fetch(from, end.Add(-span), end)
			if err != nil {
				return err
			}
			p.curves = append(p.curves, curves...)
		}
		if len(p.curves) == 0 {
			return fmt.Errorf("the panel %q is empty: is there a load?", title)
		}
		drawn = append(drawn, p)
	}
	return os.WriteFile(to, []byte(draw(drawn, span)), 0o644)
}

// fetch evaluates the query over the time.
func (t target) fetch(from string, begin, end time.Time) ([]curve, error) {
	all := strings.NewReplacer("$__rate_interval", "10s", "$store", ".*", "$kind", ".*", "$class", ".*")
	expr := all.Replace(t.Expr)
	stamp := func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
	answer, err := http.Get(from + "/api/v1/query_range?" + url.Values{
		"query": {expr}, "start": {stamp(begin)}, "end": {stamp(end)},
		"step": {strconv.Itoa(max(1, int(end.Sub(begin).Seconds())/steps))},
	}.Encode())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	var body struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any // when, and what, as text
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		return nil, err
	}
	if body.Error != "" {
		return nil, fmt.Errorf("%s: %s", expr, body.Error)
	}
	var curves []curve
	for _, series := range body.Data.Result {
		c := curve{name: t.LegendFormat}
		for label, value := range series.Metric {
			c.name = strings.ReplaceAll(c.name, "{{"+label+"}}", value)
		}
		for _, pair := range series.Values {
			at, _ := pair[0].(float64)
			text, _ := pair[1].(string)
			if v, err := strconv.ParseFloat(text, 64); err == nil && v == v { // NaN is no point
				c.points = append(c.points, [2]float64{at - float64(begin.Unix()), v})
			}
		}
		if len(c.points) > 0 {
			curves = append(curves, c)
		}
	}
	if moved := slices.DeleteFunc(slices.Clone(curves), curve.isZero); len(moved) > 0 {
		return moved, nil // there is room for few, and what never happened says least
	}
	return curves, nil
}

func (c curve) isZero() bool {
	return !slices.ContainsFunc(c.points, func(p [2]float64) bool { return p[1] != 0 })
}
