package ui_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/eoc-lang/eoc/internal/skip"
)

// limit is how long a test waits for anything.
const limit = 5 * time.Minute

// browsers are the names under which systems install Chromium.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}

// tab is a page in a browser.
type tab struct {
	context.Context
	t *testing.T

	mu         sync.Mutex
	complaints []string // of the console
	outside    []string // requests to elsewhere
	origin     string
}

// newTab opens a browser with one page. It runs without its sandbox, which root cannot have: it shows our own page alone. Without a browser the test is skipped, or fails if one has to be there.
func newTab(t *testing.T, url string) *tab {
	t.Helper()
	path := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		text := "no Chromium on this machine, so the page is NOT TESTED: apt-get install chromium"
		if os.Getenv("EO_REQUIRE_CHROMIUM") == "1" {
			t.Fatal(text)
		}
		skip.Loudly(t, "%s", text)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	allocator, endBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endTab := chromedp.NewContext(allocator)
	b := &tab{Context: ctx, t: t, origin: url[:strings.Index(url, "/ui/")]}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		endTab()
		endBrowser()
	})
	// The first call starts the browser, which lives as long as that call's context.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.do(command(log.Enable, cdp.Empty{}), command(network.Enable, network.EnableParams{}), command(runtime.Enable, cdp.Empty{}),
		chromedp.EmulateViewport(1280, 900), chromedp.Navigate(url))
	return b
}

// command is an action that gives the browser a command.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

// hear notes what a page should not do.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		b.complaints = append(b.complaints, text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			text := string(e.Type)
			for _, arg := range e.Args {
				text += " " + string(arg.Value) + arg.Description
			}
			b.complaints = append(b.complaints, text)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.complaints = append(b.complaints, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.origin+"/") {
			b.outside = append(b.outside, e.Request.URL)
		}
	}
}

// quiet fails the test if the page has complained, or asked elsewhere. While the program is gone, the browser itself
// logs each request without an answer: those are allowed.
func (b *tab) quiet(gone bool) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.complaints {
		if gone && strings.Contains(text, "net::ERR_") {
			continue
		}
		b.t.Errorf("the page complains: %s", text)
	}
	if len(b.outside) > 0 {
		b.t.Errorf("the page asks for %q", b.outside)
	}
	b.complaints = nil
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, limit)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// run is what an action answers.
func run[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, limit)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// eval is what an expression of the page's JavaScript is, or what it promises.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits for an expression to be true, and says what the page shows if it never is.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b, limit)
	defer cancel()
	look := fmt.Sprintf("new Promise((done) => { const look = () => ((%s) ? done(true) : setTimeout(look, 50)); look(); })", expression)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](look, chromedp.EvalAwaitPromise)); err != nil {
		b.t.Fatalf("%v: waiting for %s; the page shows\n%s", err, expression, eval[string](b, "document.body.innerText"))
	}
}

// screenshots is where pictures go, for people; "": nowhere.
func screenshots() string { return os.Getenv("EO_SCREENSHOTS") }

// picture takes the whole page in light and dark, as wide as said, and wants it to be legible and not to be wider than the window.
func (b *tab) picture(name string, width int64) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.do(chromedp.EmulateViewport(width, 900), command(emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}))
		if over := eval[int](b, "document.documentElement.scrollWidth - window.innerWidth"); over > 0 {
			b.t.Errorf("%s: the page is %d pixels wider than a window of %d", name, over, width)
		}
		b.legible(name, scheme)
		if screenshots() == "" {
			continue
		}
		file := filepath.Join(screenshots(), name+"-"+scheme+".png")
		if err := os.WriteFile(file, run(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}
