package luacall

import (
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbers has a decoder of numbers read any value, as one does whose script returns nothing else.
func numbers[R any](decode func([]int64) (R, error)) func(any) (any, error) {
	return func(value any) (any, error) {
		values, is := value.([]any)
		if !is {
			return nil, unlike("numbers", value)
		}
		var all []int64
		for _, v := range values {
			n, is := v.(int64)
			if !is {
				return nil, unlike("a number", v)
			}
			all = append(all, n)
		}
		return decode(all)
	}
}

func anything[R any](decode func(any) (R, error)) func(any) (any, error) {
	return func(value any) (any, error) { return decode(value) }
}

// decoders read what scripts return.
var decoders = map[string]func(any) (any, error){
	"acquire":       anything(decodeAcquire),
	"acquire, only": numbers(acquireReply),
	"adopt":         anything(decodeAdopt),
	"mint":          anything(decodeMint),
	"release":       anything(decodeRelease),
	"release all":   numbers(func(v []int64) ([]ReleaseReply, error) { return decodeReleaseAll(v, 3) }),
	"renew":         anything(func(v any) ([]RenewStatus, error) { return decodeRenew(v, 2) }),
	"renew, only":   numbers(func(v []int64) ([]RenewStatus, error) { return renewReply(v, 2) }),
	"levels":        anything(decodeLevels),
	"inspect":       anything(decodeInspect),
	"note":          anything(decodeStatus),
	"noted":         anything(decodeNote),
	"guard":         anything(decodeGuard),
	"fair acquire":  anything(decodeFairAcquire),
	"fair inspect":  anything(decodeFairInspect),
	"fair enqueue":  anything(func(v any) (EnqueueReply, error) { return decodeFairEnqueue(v, fuzzed, 1) }),
	"read":          anything(decodeAcquireRead),
	"write":         anything(decodeAcquireWrite),
	"inspect rw":    anything(decodeInspectRW),
	"permits":       anything(decodePermits),
	"renew permits": anything(decodeRenewals(2)),
	"quorum":        anything(decodeQuorum),
}

// decoderNames are in an order that never changes, as the fuzzer expects of what it measures.
var decoderNames = slices.Sorted(maps.Keys(decoders))

// fuzzed are waiters of which the first arrives.
var fuzzed = []Place{{ID: "a:1"}, {ID: "a:2", Ticket: 7}}

// valueOf makes a value out of bytes, as the client library makes it of an answer: numbers, texts, nothing, arrays of
// them, and types that no script of ours returns.
func valueOf(raw []byte, depth int) (value any, rest []byte) {
	if len(raw) == 0 {
		return nil, nil
	}
	kind, rest := raw[0], raw[1:]
	switch size := int(kind >> 3); kind & 7 {
	case 0:
		return nil, rest
	case 1, 2:
		n, used := binary.Varint(rest)
		return n, rest[max(used, 0):]
	case 3:
		size = min(size, len(rest))
		return string(rest[:size]), rest[size:]
	case 4:
		return float64(size) / 3, rest
	case 5:
		return size%2 == 0, rest
	default:
		if depth > 3 {
			return []any{}, rest
		}
		all := make([]any, 0, size)
		for range size {
			value, rest = valueOf(rest, depth+1)
			all = append(all, value)
		}
		return all, rest
	}
}

// Whatever a server returns for a script, no decoder panics, and what it takes for an answer has a status that there is.
func FuzzReplies(f *testing.F) {
	f.Add([]byte{4<<3 | 6, 1, 2, 1, 14, 1, 60, 1, 99})
	f.Add([]byte{10<<3 | 6, 1, 0, 1, 2, 1, 4, 1, 6, 1, 8, 1, 10, 1, 12, 1, 14, 1, 16, 1, 18})
	f.Add([]byte{2<<3 | 6, 1, 1, 3<<3 | 3, 'a', ':', '1'})
	f.Add([]byte{5<<3 | 6, 1, 6, 1, 0, 4<<3 | 6, 3<<3 | 3, 'a', ':', '1', 1<<3 | 3, '2', 1, 60, 0, 1, 4})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		value, _ := valueOf(raw, 0)
		for _, name := range decoderNames {
			if reply, err := decoders[name](value); err == nil {
				known(t, name, reflect.ValueOf(reply))
			}
		}
	})
}

// known requires that the statuses in a reply are those that scripts say.
func known(t *testing.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			known(t, name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			known(t, name, v.Index(i))
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			known(t, name, v.Elem())
		}
	case reflect.Int64:
		switch v.Type() {
		case reflect.TypeFor[Status]():
			require.Contains(t, []Status{TooLate, Busy, Held, Already, Done, Gone, Apart, Young}, Status(v.Int()), name)
		case reflect.TypeFor[RenewStatus]():
			require.Contains(t, []RenewStatus{Renewed, RenewGone, RenewConflict, RenewFailed}, RenewStatus(v.Int()), name)
		}
	}
}
