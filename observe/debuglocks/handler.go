package debuglocks

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/legible"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// Page is what the handler tells, as JSON.
type Page struct {
	Time    time.Time `json:"time"`
	Holds   []Local   `json:"holds"`   // of this process
	Kept    []Local   `json:"kept"`    // locks that nobody holds and that stay with this process: see rlock.Keep
	Waiters []Local   `json:"waiters"` // of this process
	// Redis are the locks in Redis, if they were asked for: 1,000 at most.
	Redis     []InRedis `json:"redis,omitempty"`
	Truncated bool      `json:"truncated,omitempty"` // Redis has more that match
	Error     string    `json:"error,omitempty"`     // why Redis could not be asked
}

// Local is a hold, a kept lock or a waiter of this process. A name that is not UTF-8, has control characters, or begins
// with a quotation mark is quoted as in Go, here and below, and holdfast inspect takes it so.
type Local struct {
	Name       string     `json:"name"`
	Kind       string     `json:"kind"`
	ID         string     `json:"id"`
	Fence      int64      `json:"fence,omitempty"`
	Since      time.Time  `json:"since"`                // when it was granted, was unlocked and kept, or began to wait
	ValidUntil *time.Time `json:"validUntil,omitempty"` // of a hold or a kept lock, unless it is renewed
}

// InRedis is a lock in Redis.
type InRedis struct {
	Name    string     `json:"name"`
	Kind    rlock.Kind `json:"kind"`
	Mode    string     `json:"mode,omitempty"`
	Held    int        `json:"held"`
	Waiters int        `json:"waiters"`
	Holders []string   `json:"holders,omitempty"` // the ids of some
	Kept    bool       `json:"kept,omitempty"`    // its client keeps it when it is unlocked: nobody may hold it
	Fence   int64      `json:"fence,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

const (
	mostInRedis = 1000
	listLimit   = 5 * time.Second
)

// Handler returns a handler that tells the locks of clients. Those in Redis are the first client's.
func Handler(clients ...*rlock.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		page := look(r.Context(), clients, r.URL.Query().Get("redis"))
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Vary", "Accept")
		if wantsJSON(r) {
			w.Header().Set("Content-Type", "application/json")
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", "  ")
			_ = encoder.Encode(page) // an error is the reader's who went away
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_ = html.Execute(w, struct {
			Page
			Pattern string
		}{page, r.URL.Query().Get("redis")})
	})
}

func wantsJSON(r *http.Request) bool {
	if format := r.URL.Query().Get("format"); format != "" {
		return format == "json"
	}
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// look collects the page.
func look(ctx context.Context, clients []*rlock.Client, pattern string) Page {
	page := Page{Time: time.Now(), Holds: []Local{}, Kept: []Local{}, Waiters: []Local{}}
	for _, client := range clients {
		core, err := (*redisclient.Client)(client).Core()
		if err != nil {
			page.Error = err.Error()
			continue
		}
		holds, idle, waiters := core.Engine.Locals()
		page.Holds = appendLocals(page.Holds, holds)
		page.Kept = appendLocals(page.Kept, idle)
		page.Waiters = appendLocals(page.Waiters, waiters)
	}
	byName := func(a, b Local) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Since.Compare(b.Since)
	}
	for _, locals := range [][]Local{page.Holds, page.Kept, page.Waiters} {
		slices.SortFunc(locals, byName)
	}
	if pattern != "" && len(clients) > 0 {
		page.list(ctx, clients[0], pattern)
	}
	return page
}

// kinds are the names of modes that are not plain already.
var kinds = map[string]string{"": "rlock", "permit": "semaphore", "count": "counting"}

func appendLocals(to []Local, all []engine.Local) []Local {
	for _, l := range all {
		kind, known := kinds[l.Mode]
		if !known {
			kind = l.Mode
		}
		local := Local{Name: legible.Name(l.Name), Kind: kind, ID: l.ID, Fence: l.Fence, Since: l.Since}
		if !l.ValidUntil.IsZero() {
			local.ValidUntil = &l.ValidUntil
		}
		to = append(to, local)
	}
	return to
}

// list asks Redis.
func (p *Page) list(ctx context.Context, client *rlock.Client, pattern string) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	for e, err := range operate.List(ctx, client, pattern) {
		if err != nil {
			p.Error = err.Error()
			return
		}
		if e.Free() && e.Kind == rlock.KindUnknown {
			continue
		}
		if len(p.Redis) == mostInRedis {
			p.Truncated = true
			return
		}
		in := InRedis{
			Name: legible.Name(e.Name), Kind: e.Kind, Mode: e.Mode, Held: e.Held, Waiters: e.Waiters, Fence: e.Fence,
		}
		for _, h := range e.Holders[:min(len(e.Holders), 10)] {
			in.Holders, in.Kept = append(in.Holders, legible.Name(h.ID)), in.Kept || h.Kept
		}
		if !e.Since.IsZero() {
			in.Since = &e.Since
		}
		p.Redis = append(p.Redis, in)
	}
}

//go:embed page.html
var pageText string

// The page's only script. It may ask this server, and the browser runs no other one.
//
//go:embed refresh.js
var script string

var policy = fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; connect-src 'self'; "+
	"script-src 'sha256-%s'", digest(script))

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

var html = template.Must(template.New("page").Funcs(template.FuncMap{
	"ago":    func(now, at time.Time) string { return brief(now.Sub(at)) },
	"until":  func(now time.Time, at *time.Time) string { return brief(at.Sub(now)) },
	"script": func() template.JS { return template.JS(script) },
}).Parse(pageText))

func brief(d time.Duration) string {
	if d.Abs() < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
