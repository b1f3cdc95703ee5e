package memory

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
)

// limited sets Go's memory limit to what is held now and so many bytes more.
func limited(t *testing.T, more int64) *Guard {
	t.Helper()
	runtime.GC()
	before := debug.SetMemoryLimit(held() + more)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	return New("the test")
}

func TestGuard(t *testing.T) {
	g := limited(t, 200<<20)
	var ballast [][]byte
	step := func(mib int, tight, over bool) {
		t.Helper()
		ballast = append(ballast, make([]byte, mib<<20))
		runtime.GC()
		is, err := g.Look()
		if is != tight || (err != nil) != over {
			t.Errorf("with %d MiB: tight %v, %v; want %v and %v", mib, is, err, tight, over)
		}
		var e *Exceeded
		if over && (!errors.As(err, &e) || e.Held < 180<<20 || e.Limit < 200<<20 || !strings.Contains(err.Error(), "(the test)")) {
			t.Errorf("%+v", err)
		}
	}
	step(100, false, false)
	step(65, true, false)
	step(30, true, true)
	ballast = nil
	step(1, false, false) // garbage is not held
	runtime.KeepAlive(ballast)
}

func TestAllocate(t *testing.T) {
	g := limited(t, 200<<20)
	ballast := make([]byte, 100<<20)
	taken := false
	if err := g.Allocate(120<<20, func() { taken = true }); err == nil || taken || !strings.Contains(err.Error(), "120 more would be needed at once") {
		t.Errorf("120 MiB beside 100: taken %v, %v", taken, err)
	}
	if err := g.Allocate(40<<20, func() { taken = true }); err != nil || !taken {
		t.Errorf("40 MiB beside 100: taken %v, %v", taken, err)
	}
	runtime.KeepAlive(ballast)
	ballast, taken = nil, false // garbage that nobody has collected yet
	if err := g.Allocate(120<<20, func() { taken = true }); err != nil || !taken {
		t.Errorf("120 MiB alone: taken %v, %v", taken, err)
	}
}

// What is allocated while a collection is at work counts as live: one collection alone is no proof that too much is held.
func TestTwoCollections(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		held []int64 // MiB of 100, one look after the other
		over bool
	}{
		"little":                   {[]int64{50}, false},
		"the first finds little":   {[]int64{95, 60}, false},
		"the second finds little":  {[]int64{95, 95, 60}, false},
		"both find too much":       {[]int64{95, 95, 95}, true},
		"the second finds the bit": {[]int64{99, 91, 90}, false},
	} {
		t.Run(name, func(t *testing.T) {
			looks, last := 0, uint32(0)
			g := &Guard{limit: 100 * mib, from: "the test"}
			g.held = func() int64 {
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				if looks > 0 && stats.NumGC == last {
					t.Errorf("look %d is not behind another collection", looks)
				}
				last, looks = stats.NumGC, looks+1
				return c.held[looks-1] * mib
			}
			if _, err := g.Look(); (err != nil) != c.over || looks != len(c.held) {
				t.Errorf("%v after %d looks, want over %v after %d", err, looks, c.over, len(c.held))
			}
		})
	}
	// What stands in the way of something large is looked for as carefully.
	for _, second := range []int64{1, 2} {
		left := []int64{2, second}
		g := &Guard{limit: 1 << 40, from: "the test"}
		g.held = func() int64 { now := left[0]; left = left[1:]; return now }
		taken := false
		if err := g.Allocate(g.share(mostHeld)-1, func() { taken = true }); taken != (second == 1) || (err == nil) != taken || len(left) > 0 {
			t.Errorf("%d bytes are held and there is room for one: taken %v, %v, %d looks left", second, taken, err, len(left))
		}
	}
}

func TestNoLimit(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	g, taken := New(""), false
	if tight, err := g.Look(); tight || err != nil || g.Allocate(1<<50, func() { taken = true }) != nil || !taken {
		t.Errorf("%v, taken %v", err, taken)
	}
}

// Where the environment says something, Go has heard it already.
func TestLimit(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 60)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	env := map[string]string{"GOMEMLIMIT": "off"}
	look := func(name string) (string, bool) { s, ok := env[name]; return s, ok }
	if from := Limit(look); from != "GOMEMLIMIT" || debug.SetMemoryLimit(-1) != 1<<60 {
		t.Errorf("limit %d from %q, want it as it was", debug.SetMemoryLimit(-1), from)
	}
	env["GOMEMLIMIT"] = "" // is none
	from := Limit(look)
	if limit := debug.SetMemoryLimit(-1); runtime.GOOS == "linux" && (from == "" || limit >= 1<<60) {
		t.Errorf("limit %d from %q, want that of this machine", limit, from)
	}
}

func TestMachine(t *testing.T) {
	const meminfo = "MemTotal:       8000 kB\nMemFree:        1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		bytes int64
		from  string
	}{
		"another system": {nil, 0, ""},
		"no group":       {map[string]string{"proc/meminfo": meminfo}, 8000 << 10, "the machine's memory"},
		"unlimited": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"},
			8000 << 10, "the machine's memory"},
		"container": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4096000\n"},
			4096000, "memory.max of the control group"},
		"service": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/orders.service\n",
			"sys/fs/cgroup/system.slice/orders.service/memory.max": "5000000\n"}, 5000000, "memory.max of the control group"},
		"the group above": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "5000000\n", "sys/fs/cgroup/a/memory.max": "4000000\n"}, 4000000, "memory.max of the control group"},
		"more than there is": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9000000\n"},
			8000 << 10, "the machine's memory"},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "3000000\n"}, 3000000, "memory.limit_in_bytes of the control group"},
		"version 1, unlimited": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8000 << 10, "the machine's memory"},
	} {
		fsys := fstest.MapFS{}
		for path, text := range c.files {
			fsys[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if bytes, from := machine(fsys); bytes != c.bytes || from != c.from {
			t.Errorf("%s: %d, %q; want %d, %q", name, bytes, from, c.bytes, c.from)
		}
	}
}
