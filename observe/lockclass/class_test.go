package lockclass_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/observe/lockclass"
)

func TestWhatTellsOneLockFromTheNextIsNotInTheClass(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                                  "",
		"order":                             "order",
		"order:1001":                        "order:*",
		"order1001":                         "order*",
		"order:1001:item:7":                 "order:*:item:*",
		"report:2026-11-23:v2":              "report:*-*-*:v*",
		"10.0.0.1:6379":                     "*.*.*.*:*",
		"blob/9f86d081884c7d65":             "blob/*",
		"blob/DEADBEEF":                     "blob/*",
		"facade:decade":                     "facade:decade", // English
		"a1:b12f":                           "*:*",
		"shard7a":                           "shard*a",
		"upload:01ARZ3NDEKTSV4RRFFQ69G5FAV": "upload:*",
		"user:0b6c7fc8-9f0e-4d3a-8a51-6f7d1c1a2b3c":      "user:*",
		"user:{0B6C7FC8-9F0E-4D3A-8A51-6F7D1C1A2B3C}:in": "user:{*}:in",
		"0b6c7fc8-9f0e-4d3a-8a51-6f7d1c1a2b3cz":          "*-*-*-*-*", // a word goes on after it
		"Straße:Zürich:8001":                             "Straße:Zürich:*",
		"٤٢:forty-two":                                   "*:forty-two", // digits that are not ASCII
		"order:1,order:2,order:3":                        "order:*",
		"from:1,to:2":                                    "from:*,to:*",
		"broken:\xff\xfe:5":                              "broken:*:*",
	} {
		assert.Equal(t, want, lockclass.Of(name), name)
	}
}

// Whatever identifiers a program puts into its names, the classes stay few.
func TestIdentifiersOfAllKindsCollapse(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func() string{
		"decimal": func() string { return fmt.Sprint(random.Uint64()) },
		"hex":     func() string { return fmt.Sprintf("%016x", random.Uint64()) },
		"HEX":     func() string { return fmt.Sprintf("%X", random.Uint64()) },
		"uuid":    func() string { return uuid.NewString() },
		"URN":     func() string { return uuid.New().URN() },
		"date":    func() string { return fmt.Sprintf("%d-%02d-%02d", random.IntN(3000), random.IntN(13), random.IntN(32)) },
	}
	for kind, identifier := range kinds {
		classes := map[string]bool{}
		for range 10_000 {
			classes[lockclass.Of("shop:"+identifier()+":pay")] = true
		}
		assert.Len(t, classes, 1, kind)
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{"order:1", "a\xffb", "0b6c7fc8-9f0e-4d3a-8a51-6f7d1c1a2b3c", "x,x,x", "٤٢", "½"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		class := lockclass.Of(name)
		assert.True(t, utf8.ValidString(class))
		assert.False(t, strings.ContainsAny(class, "0123456789"), class)
	})
}

func TestClassesAreFew(t *testing.T) {
	t.Parallel()
	letters := func(n int) string { return strings.Repeat("g", n%50+1) + strings.Repeat("h", n/50) }
	t.Run("the first ones, then other", func(t *testing.T) {
		t.Parallel()
		class := lockclass.Limit(nil, 0)
		seen := map[string]bool{}
		for n := range 2000 {
			seen[class(letters(n))] = true
		}
		assert.Len(t, seen, lockclass.DefaultMost+1)
		assert.Contains(t, seen, lockclass.Other)
		assert.Equal(t, letters(3), class(letters(3)), "a class that came in time stays")
	})
	t.Run("a function of the user", func(t *testing.T) {
		t.Parallel()
		class := lockclass.Limit(func(name string) string { return name }, 2)
		assert.Equal(t, "1", class("1"))
		assert.Equal(t, "*", class("\xff"))
		assert.Equal(t, lockclass.Other, class("3"))
		assert.Equal(t, "1", class("1"))
	})
	t.Run("a text is no class", func(t *testing.T) {
		t.Parallel()
		assert.Equal(t, lockclass.Other, lockclass.Limit(nil, 0)(strings.Repeat("long ", 50)))
	})
	t.Run("all at once", func(t *testing.T) {
		t.Parallel()
		class := lockclass.Limit(nil, 10)
		var mu sync.Mutex
		seen := map[string]bool{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for n := range 500 {
					got := class(letters(n))
					mu.Lock()
					seen[got] = true
					mu.Unlock()
				}
			})
		}
		all.Wait()
		assert.Len(t, seen, 11)
	})
}
