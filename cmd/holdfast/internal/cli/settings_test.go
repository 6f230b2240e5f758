package cli

import (
	"crypto/tls"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// ways are the settings of a client that the command line can make: what is given, by flags or by a variable, and what
// the client has then. Of the URL a way has the part behind the host.
var ways = map[string]struct {
	way, value, want string
}{
	"Network":               {"--redis", "unix:///run/redis.sock", "unix"},
	"Addr":                  {"--redis", "redis://a:1", "a:1"},
	"Addrs":                 {"--cluster", "a:1,b:2", "[a:1 b:2]"},
	"SentinelAddrs":         {"--sentinel", "a:1,b:2", "[a:1 b:2]"},
	"MasterName":            {"--master", "main", "main"},
	"SentinelUsername":      {"--sentinel-user", "watch", "watch"},
	"SentinelPassword":      {"$HOLDFAST_SENTINEL_PASSWORD", "guard", "guard"},
	"Username":              {"$REDIS_URL", "redis://locks:secret@h:1", "locks"},
	"Password":              {"$REDIS_URL", "redis://locks:secret@h:1", "secret"},
	"DB":                    {"--redis", "redis://h:1/2", "2"},
	"TLSConfig":             {"--tls-server-name", "inner", "inner"},
	"RootCAs":               {"--tls-ca", "", ""},
	"Certificates":          {"--tls-cert", "", ""},
	"ServerName":            {"--tls-server-name", "inner", "inner"},
	"InsecureSkipVerify":    {"--tls-insecure", "true", "true"},
	"ClientName":            {"?client_name", "x", "x"},
	"Protocol":              {"?protocol", "2", "2"},
	"PoolSize":              {"?pool_size", "7", "7"},
	"PoolFIFO":              {"?pool_fifo", "true", "true"},
	"ConnMaxIdleTime":       {"?conn_max_idle_time", "70s", "1m10s"},
	"ConnMaxLifetime":       {"?conn_max_lifetime", "70s", "1m10s"},
	"ConnMaxLifetimeJitter": {"?conn_max_lifetime=80s&conn_max_lifetime_jitter", "70s", "1m10s"},
	"ReadTimeout":           {"?read_timeout", "70s", "1m10s"},
	"WriteTimeout":          {"?write_timeout", "70s", "1m10s"},
	"DialTimeout":           {"?dial_timeout", "70s", "1m10s"},
	"Lease":                 {"--lease", "70s", "1m10s"},
	"MinReplicas":           {"--min-replicas", "3", "3"},
	"Fsync":                 {"--fsync", "true", "true"},
	"Prefix":                {"--prefix", "p:", "p:"},
	"MaxWait":               {"--wait", "", ""},
}

// given are the options that a client has from a command line: the redis client's and the locks'.
func given(t *testing.T, args ...string) []any {
	t.Helper()
	g, cmd := &globals{}, &cobra.Command{}
	g.addFlags(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	require.NoError(t, g.check())
	options, err := g.options()
	require.NoError(t, err)
	locks, _ := g.clientOptions("")
	return []any{options, locks}
}

// optioned are the structs with the settings that a client may have, and the flags with which it has them.
var optioned = []struct {
	options any
	flags   []string
}{
	{redis.Options{}, nil},
	{redis.ClusterOptions{}, []string{"--cluster", "z:1"}},
	{redis.FailoverOptions{}, []string{"--sentinel", "z:1", "--master", "m"}},
	{rlock.ClientOptions{}, nil},
}

// Each setting that a client may have stands in the table of the page, with the way to make it, which works, or with
// the reason why there is none (defect G55).
func TestThePageHasEverySettingOfAClient(t *testing.T) {
	rows := rowsOfSettings(t)
	fields := make(map[string]bool)
	for _, o := range optioned {
		for field := range reflect.TypeOf(o.options).Fields() {
			if !field.IsExported() || strings.HasPrefix(field.Name, "DisableIndentity") {
				continue
			}
			fields[field.Name] = true
			row, found := rows[field.Name]
			way, settable := ways[field.Name]
			if !assert.True(t, found, "the page does not have %s", field.Name) {
				continue
			}
			if !settable {
				assert.Regexp(t, `^none: .`, row, field.Name)
				continue
			}
			name := strings.TrimPrefix(way.way, "?")
			assert.Contains(t, row, name[strings.LastIndexByte(name, '&')+1:], field.Name)
			if way.want == "" || field.Name == "DB" && o.flags != nil && o.flags[0] == "--cluster" {
				continue
			}
			t.Run(fmt.Sprintf("%T %s", o.options, field.Name), func(t *testing.T) {
				assert.Equal(t, way.want, set(t, o.flags, field.Name))
			})
		}
	}
	for _, name := range []string{"RootCAs", "Certificates", "ServerName", "InsecureSkipVerify"} {
		assert.Contains(t, rows[name], ways[name].way)
		fields[name] = true
	}
	for name := range rows {
		assert.True(t, fields[name], "there is no setting %s", name)
	}
	for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(fmt.Sprint(rows), -1) {
		root := newRoot(nil, nil)
		run, _, err := root.Find([]string{"run"})
		require.NoError(t, err)
		name := strings.TrimPrefix(flag[1], "--")
		assert.True(t, root.PersistentFlags().Lookup(name) != nil || run.Flags().Lookup(name) != nil, flag[1])
	}
}

// set makes a setting of a client, and returns it.
func set(t *testing.T, flags []string, field string) string {
	t.Helper()
	w := ways[field]
	t.Setenv("REDIS_URL", "")
	flags = slices.Clone(flags)
	at := slices.Index(flags, w.way)
	switch {
	case at >= 0:
		flags[at+1] = w.value
	case strings.HasPrefix(w.way, "--"):
		flags = append(flags, w.way+"="+w.value)
	case strings.HasPrefix(w.way, "$"):
		t.Setenv(w.way[1:], w.value)
	default:
		t.Setenv("REDIS_URL", "redis://h:1/"+w.way+"="+w.value)
	}
	for _, options := range given(t, flags...) {
		if f := reflect.ValueOf(options).Elem().FieldByName(field); f.IsValid() {
			if config, is := f.Interface().(*tls.Config); is {
				return config.ServerName
			}
			return fmt.Sprint(f.Interface())
		}
	}
	return ""
}

// rowsOfSettings reads the table of the page: what it says of each setting.
func rowsOfSettings(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/command-line.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n### Every setting of a client\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n#")
	rows := make(map[string]string)
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, name := range regexp.MustCompile("`([A-Za-z0-9]+)`").FindAllStringSubmatch(cells[1], -1) {
			require.NotContains(t, rows, name[1], "twice")
			rows[name[1]] = strings.TrimSpace(cells[2])
		}
	}
	return rows
}
