package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// printer writes a world such that two which behave the same are written the same: ids and pointers are numbered in the
// order in which they are met, and what is the same in all worlds of a search is left out.
type printer struct {
	text  []byte
	ids   map[string]int
	seen  map[unsafe.Pointer]int
	fence int64 // the newest
}

// unprinted are the types that are left out: what is constant, and what no step of a search depends on.
var unprinted = []reflect.Type{
	reflect.TypeFor[*Engine](), reflect.TypeFor[*table](), reflect.TypeFor[*hold.Host](), reflect.TypeFor[plot](),
	reflect.TypeFor[watchdog.Timer](), reflect.TypeFor[watchdog.Lease](), reflect.TypeFor[sync.Mutex](),
	reflect.TypeFor[*sync.Mutex](),
}

// tokens are the names of the fields that hold fencing tokens: only their distance to the newest one matters.
var tokens = []string{"fence", "Fence", "newest"}

func (s *world) print() string {
	p := printer{ids: make(map[string]int), seen: make(map[unsafe.Pointer]int), fence: s.store.fence}
	for _, a := range s.calls {
		p.flag(a.lives())
	}
	p.value(reflect.ValueOf(s.engine.table.get(s.key, store.OneHolder)))
	p.value(reflect.ValueOf(s).Elem())
	return string(p.text)
}

func (p *printer) value(v reflect.Value) {
	if slices.Contains(unprinted, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p.pointer(v)
	case reflect.Interface:
		p.inside(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).Kind() == reflect.Int64 && slices.Contains(tokens, v.Type().Field(i).Name) {
				p.number('=', p.fence-v.Field(i).Int())
				continue
			}
			p.value(v.Field(i))
		}
		p.text = append(p.text, '/')
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			p.value(v.Index(i))
		}
		p.text = append(p.text, '|')
	case reflect.Map:
		p.entries(v)
	case reflect.Chan:
		p.flag(v.IsNil())
		p.number('=', int64(v.Len()))
	case reflect.String:
		p.word(v.String())
	case reflect.Bool:
		p.flag(v.Bool())
	case reflect.Func, reflect.UnsafePointer: // the latter is that of an atomic.Pointer
		p.flag(v.IsNil())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.number('=', v.Int())
	default:
		p.number('=', int64(v.Uint()))
	}
}

func (p *printer) flag(is bool) {
	if is {
		p.text = append(p.text, '1')
	} else {
		p.text = append(p.text, '0')
	}
}

func (p *printer) number(what byte, n int64) { p.text = strconv.AppendInt(append(p.text, what), n, 36) }

// word writes an id by its number, and any other word as it is.
func (p *printer) word(s string) {
	if !strings.HasPrefix(s, "c:") {
		p.text = append(p.text, strings.TrimRight(s, "0123456789")...)
		return
	}
	n, ok := p.ids[s]
	if !ok {
		n = len(p.ids)
		p.ids[s] = n
	}
	p.number('#', int64(n))
}

// pointer writes what a pointer leads to, the first time, and then its number.
func (p *printer) pointer(v reflect.Value) {
	if v.IsNil() {
		p.text = append(p.text, '-')
		return
	}
	at := v.UnsafePointer()
	n, ok := p.seen[at]
	if !ok {
		n = len(p.seen)
		p.seen[at] = n
		p.value(v.Elem())
	}
	p.number('@', int64(n))
}

// inside writes what an interface has: a protocol by its mode, and an error or a context by its type.
func (p *printer) inside(v reflect.Value) {
	if v.IsNil() {
		p.text = append(p.text, '-')
		return
	}
	switch v.Elem().Type() {
	case reflect.TypeFor[played]():
		p.text = append(p.text, v.Elem().Field(0).Field(1).String()...)
	case reflect.TypeFor[*waiter](), reflect.TypeFor[*Grant]():
		p.value(v.Elem())
	default:
		p.text = append(p.text, v.Elem().Type().String()...)
	}
}

// entries writes a map in the order of its keys.
func (p *printer) entries(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return inOrder(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range keys {
		p.value(k)
		p.value(v.MapIndex(k))
	}
	p.text = append(p.text, '|')
}
