package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
)

// aclKinds are what a user may do, by heading of the page for operators.
var aclKinds = []struct {
	heading string
	base    string // whose rights are needed as well
	site    func(t *testing.T) *aclSite
	life    func(a *aclTrial)
}{
	{"rlock", "", aclSingle, aclPlain},
	{"fairlock", "", aclSingle, aclFair},
	{"rwlock", "", aclSingle, aclReadWrite},
	{"semaphore", "", aclSingle, aclSemaphore},
	{"counting", "", aclSingle, aclCounting},
	{"latch", "", aclSingle, aclLatch},
	{"multilock", "", aclSingle, aclMultilock},
	{"redlock", "", aclIndependent, aclRedlock},
	{"leader", "rlock", aclSingle, aclLeader},
	{"fence", "", aclSingle, aclFence},
	{"Owners", "rlock", aclSingle, aclOwner},
	{"Listing", "", aclSingle, aclList},
	{"Freeing leaks", "Listing", aclSingle, aclFree},
	{"Checking", "rlock", aclPersistent, aclCheck},
	{"MinReplicas", "rlock", aclReplicated, aclReplicas},
	{"Keep", "rlock", aclSingle, aclKeep},
	{"Fsync", "rlock", aclSyncing, aclSynced},
	{"Sentinel", "rlock", aclSentinels, aclWatched},
	{"Cluster", "rlock", aclClustered, aclSpread},
}

// Need 20: a user who may only use its own keys, and only call what locks need, can do everything, and the server
// refuses nothing. Without any one of the rights it refuses something: then a call fails, unless the page says what
// happens instead.
func TestTheRightsOnThePageSufficeAndEachIsNeeded(t *testing.T) {
	t.Parallel()
	page := readACLPage(t)
	require.Len(t, page.rights, len(aclKinds), "the page and this test know different headings")
	for _, kind := range aclKinds {
		t.Run(kind.heading, func(t *testing.T) {
			t.Parallel()
			site, rights := kind.site(t), page.rights[kind.heading]
			require.NotEmpty(t, rights, "the page has no rights under this heading")
			all := slices.Concat(page.rights[kind.base], rights)
			denied, failed := aclRun(t, site, "all", all, never, kind.life)
			require.Empty(t, failed)
			require.Empty(t, aclMissed(denied, all))

			try := func(right string) {
				without := slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == right })
				id := fmt.Sprintf("less-%d", slices.Index(rights, right))
				denied, failed := aclRun(t, site, id, without, 100*time.Millisecond, kind.life)
				denied = aclMissed(denied, all)
				may := page.isOptional(kind.heading, right)
				switch {
				case len(denied) == 0:
					t.Errorf("%s is not needed: the server refuses nothing, and this fails: %v", right, failed)
				case may && len(failed) > 0:
					t.Errorf("%s is not optional: %s", right, strings.Join(failed, "; "))
				case !may && len(failed) == 0:
					t.Errorf("%s is optional: the server refuses %v, and everything works", right, denied)
				}
			}
			rest := site.known(t, rights)
			if i := slices.Index(rest, "+eval"); i >= 0 { // is needed while the servers do not know the scripts
				site.forget(t)
				try("+eval")
				rest = slices.Delete(rest, i, i+1)
			}
			slots := make(chan struct{}, 12)
			var runs sync.WaitGroup
			for _, right := range rest {
				slots <- struct{}{}
				runs.Go(func() {
					defer func() { <-slots }()
					try(right)
				})
			}
			runs.Wait()
		})
	}
}

// The same for names with a hash tag, by the rules that the page has for them.
func TestTheRightsForNamesWithAHashTag(t *testing.T) {
	t.Parallel()
	page := readACLPage(t)
	for _, kind := range aclKinds[:8] {
		t.Run(kind.heading, func(t *testing.T) {
			t.Parallel()
			var rights []string
			for _, right := range page.rights[kind.heading] {
				own := strings.HasPrefix(right[1:], "holdfast_")
				switch {
				case strings.HasPrefix(right, "&redisson_countdownlatch"):
					right = strings.ReplaceAll(right, "{app:*", "{{app}:*")
				case own:
					right = strings.ReplaceAll(right, ":{app:*", "::{app}:*")
				case strings.HasPrefix(right, "~app:"):
					right = "~{app}:*"
				default:
					right = strings.ReplaceAll(right, "{app:*", "{app}:*")
				}
				rights = append(rights, right)
			}
			denied, failed := aclRun(t, kind.site(t), "{app}:all", rights, never, kind.life)
			require.Empty(t, failed)
			require.Empty(t, aclMissed(denied, rights))
		})
	}
}

// aclMissed are the refusals but for those of the channel on which a client hears of breaks, if the rights of its kind do
// not have it: whatever the kind, a client that has had a lock for a second tries to listen there, and does without.
func aclMissed(denied, rights []string) []string {
	if slices.Contains(rights, "&"+keys.Wanted("*")) {
		return denied
	}
	return slices.DeleteFunc(denied, func(what string) bool { return strings.HasPrefix(what, keys.Wanted("")) })
}
