package malformed

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// answer is what comes instead of a reply. It writes until it has written all, or the client takes no more.
type answer struct {
	name  string
	write func(write func(raw []byte) bool)
}

// draw draws an answer. No answer is a reply that a script could give.
func draw(rng *rand.Rand) answer {
	kinds := []func(rng *rand.Rand) answer{
		lengths, lengths, types, types, statuses, statuses, cut, noise, endless, endless, drip, long,
	}
	return kinds[rng.IntN(len(kinds))](rng)
}

func raw(name string, all []byte) answer {
	if len(all) < 80 {
		name = fmt.Sprintf("%s %q", name, all)
	}
	return answer{name, func(write func([]byte) bool) { write(all) }}
}

func pick[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

// lengths are headers that say what no reply has.
func lengths(rng *rand.Rand) answer {
	before := pick(rng, "", "*1\r\n", "*5\r\n:1\r\n", "*2\r\n*2\r\n+a\r\n", "%1\r\n+a\r\n", ">2\r\n+message\r\n",
		"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n")
	kind := pick(rng, "$", "*", "%", "~", ">", "=", "!", "|")
	length := pick(rng, "9223372036854775807", "9223372036854775806", "100000000000", "2147483648", "1000000000",
		"-2", "-9223372036854775808", "18446744073709551615", "99999999999999999999", "?", "", "1e9", "0x10")
	return raw("a length", []byte(before+kind+length+"\r\n"))
}

// values of every type; none of them is a status of a script.
var values = []string{
	"+OK\r\n", "+\r\n", "$5\r\nhello\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "%0\r\n", "~0\r\n",
	"_\r\n", "#t\r\n", "#x\r\n", ",1.5\r\n", ",nan\r\n", ",x\r\n", "(12345678901234567890\r\n", "(x\r\n",
	"=7\r\ntxt:abc\r\n", "=1\r\na\r\n", ":77\r\n", ":-77\r\n", ":x\r\n", "*1\r\n*0\r\n",
	"*2\r\n:77\r\n*1\r\n+a\r\n", "%1\r\n+a\r\n:77\r\n", "%1\r\n_\r\n:77\r\n", "%1\r\n*0\r\n:77\r\n",
	"!3\r\nbad\r\n", "-\r\n", "- \r\n", "*1\r\n$9\r\nsubscribe\r\n", "*2\r\n$7\r\nmessage\r\n:77\r\n",
	"*1\r\n$4\r\npong\r\n", "*3\r\n$8\r\npmessage\r\n_\r\n_\r\n",
}

// types are values of the wrong types, alone or in an array.
func types(rng *rand.Rand) answer {
	if rng.IntN(3) == 0 {
		return raw("a type", []byte(pick(rng, values...)))
	}
	n := 1 + rng.IntN(12)
	var all strings.Builder
	fmt.Fprintf(&all, "%s%d\r\n", pick(rng, "*", "*", "~", ">"), n)
	for range n {
		all.WriteString(pick(rng, values...))
	}
	return raw("types", []byte(all.String()))
}

// statuses are as many numbers as some script returns, with a status that none does.
func statuses(rng *rand.Rand) answer {
	n, status := 1+rng.IntN(11), pick[int64](rng, 77, -77, 5, -10, 1<<40)
	var all strings.Builder
	fmt.Fprintf(&all, "*%d\r\n:%d\r\n", n, status)
	for range n - 1 {
		fmt.Fprintf(&all, ":%d\r\n", pick[int64](rng, 0, 1, -1, 1<<62))
	}
	return raw("a status", []byte(all.String()))
}

// cut is the beginning of a frame, after which nothing comes.
func cut(rng *rand.Rand) answer {
	whole := pick(rng, "*5\r\n:77\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "$100\r\nhello", "+OK\r\n",
		"%2\r\n+a\r\n+b\r\n+c\r\n+d\r\n",
		"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n0\r\n")
	return raw("a beginning", []byte(whole[:1+rng.IntN(len(whole)-1)]))
}

// noise is random bytes, most of them such as frames have.
func noise(rng *rand.Rand) answer {
	const often = "$*:+-%~>=!_#,(|0123456789\r\n\r\n\r\n"
	all := make([]byte, 1+rng.IntN(200))
	for i := range all {
		if all[i] = often[rng.IntN(len(often))]; rng.IntN(4) == 0 {
			all[i] = byte(rng.Uint32())
		}
	}
	all[0] = pick(rng, byte('$'), '%', '>', '=', 0, '\r', 'x') // no array: it could be a reply
	return raw("noise", all)
}

// endless are frames that never end, or that end again and again.
func endless(rng *rand.Rand) answer {
	first, again := "", ""
	switch rng.IntN(6) {
	case 0:
		first, again = pick(rng, "+", "-", ":", "$", "("), "1"
	case 1:
		first, again = "*100000\r\n", pick(rng, ":77\r\n", "*0\r\n", "$5\r\nhello\r\n")
	case 2:
		again = pick(rng, "*1\r\n", "%1\r\n+a\r\n", "|0\r\n", "|1\r\n+a\r\n+b\r\n", "*2\r\n+a\r\n")
	case 3:
		again = pick(rng, ">1\r\n+a\r\n", ">2\r\n+invalidate\r\n*0\r\n", ">0\r\n")
	case 4:
		again = pick(rng, "+a\r\n", "*0\r\n", "_\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n")
	case 5:
		first, again = fmt.Sprintf("$%d\r\n", pick(rng, 1_000_000_000, 20_000_000)), "hello"
	}
	chunk := bytes.Repeat([]byte(again), 1+16<<10/len(again))
	return answer{fmt.Sprintf("endless %q %q", first, again), func(write func([]byte) bool) {
		for more := write([]byte(first)); more; {
			more = write(chunk)
		}
	}}
}

// drip is a long frame of which a byte comes now and then.
func drip(rng *rand.Rand) answer {
	first := pick(rng, "$1000000\r\n", "*1000\r\n", "+", "*5\r\n$100000\r\n", ">2\r\n$100000\r\n")
	return answer{fmt.Sprintf("a drip %q", first), func(write func([]byte) bool) {
		for more := write([]byte(first)); more; {
			time.Sleep(10 * time.Millisecond) // the answer is slow; nothing is waited for
			more = write([]byte("1"))
		}
	}}
}

// long is a frame of the right form that is as long as one may be, or a little longer.
func long(rng *rand.Rand) answer {
	n := pick(rng, 1<<20, 16<<20, 31<<20, 33<<20)
	return answer{fmt.Sprintf("a string of %d bytes", n), func(write func([]byte) bool) {
		if !write(fmt.Appendf(nil, "$%d\r\n", n)) {
			return
		}
		chunk := bytes.Repeat([]byte("x"), 1<<16)
		for left := n; left > 0; left -= len(chunk) {
			if !write(chunk[:min(left, len(chunk))]) {
				return
			}
		}
		write([]byte("\r\n"))
	}}
}
