package devkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// limit is how long a test waits for anything.
const limit = 5 * time.Minute

// TestMain lets the test binary be the broker, and a parent that starts one and waits.
func TestMain(m *testing.M) {
	switch os.Getenv("DEVKAFKA_TEST_AS") {
	case "broker":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := Serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "parent":
		os.Setenv("DEVKAFKA_TEST_AS", "broker")
		p, err := Start(context.Background(), os.Stderr, os.Args[0])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.Addr)
		io.Copy(io.Discard, os.Stdin)
	case "nothing":
	default:
		os.Exit(m.Run())
	}
}

func start(t *testing.T) string {
	t.Helper()
	t.Setenv("DEVKAFKA_TEST_AS", "broker")
	p, err := Start(t.Context(), os.Stderr, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p.Addr
}

func dial(t *testing.T, addr string) *Client {
	t.Helper()
	c, err := Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestFeedAndWatch(t *testing.T) {
	addr := start(t)
	c := dial(t, addr)
	ctx := within(t)
	if err := c.CreateTopics(ctx, 3, "orders", "empty"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopics(ctx, 3, "orders"); err == nil {
		t.Error("a topic is created twice without an error")
	}
	var sent []Record
	input := strings.NewReader("{\"user\": \"u1\", \"at\": \"2026-01-31T12:00:00.5Z\"}\n\n{\"user\": 7, \"at\": 1000}\n{\"user\": null}\nno JSON\n")
	for r, err := range (Rule{Key: "user", Time: "at"}).Records(input) {
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, r)
	}
	sent[3].Partition = 2
	if err := c.Send(ctx, "orders", sent); err != nil {
		t.Fatal(err)
	}
	w, err := Watch(addr, "orders", "empty")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got, err := w.Rest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || sent[3].Partition != 2 {
		t.Fatalf("sent %+v\ngot %+v", sent, got)
	}
	for _, r := range got {
		i := slices.IndexFunc(sent, func(s Record) bool { return bytes.Equal(s.Value, r.Value) })
		if i < 0 || !bytes.Equal(sent[i].Key, r.Key) || sent[i].Partition != r.Partition || sent[i].Offset != r.Offset ||
			!sent[i].Time.IsZero() && !sent[i].Time.Equal(r.Time) {
			t.Errorf("got %+v which was not sent so", r)
		}
	}
	if more, err := w.Rest(ctx); err != nil || len(more) != 0 {
		t.Errorf("got %v (%v) once more", more, err)
	}
}

func TestRecordsFromLines(t *testing.T) {
	for line, want := range map[string]Record{
		`{"k": "a\"b", "t": "2026-01-31T12:00:00Z"}`: {Key: []byte(`a"b`), Time: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
		`{"k": [1, 2], "t": 1500}`:                   {Key: []byte("[1, 2]"), Time: time.UnixMilli(1500)},
		`{"k": null, "t": "yesterday"}`:              {},
		`{"t": "0001-01-01T00:00:00Z"}`:              {Time: FirstTime},
		`{"t": "1969-12-31T23:59:59.999Z"}`:          {Time: FirstTime},
		`{"t": "2262-04-11T23:47:16.854Z"}`:          {Time: LastTime},
		`{"t": "2262-04-11T23:47:16.855Z"}`:          {Time: LastTime},
		`{"t": "9999-12-31T23:59:59Z"}`:              {Time: LastTime},
		`{"t": null}`:                                {},
		`{}`:                                         {},
		`[1]`:                                        {},
		`{"k": "a"`:                                  {},
	} {
		for got, err := range (Rule{Key: "k", Time: "t"}).Records(strings.NewReader(line)) {
			if err != nil || string(got.Value) != line || !bytes.Equal(got.Key, want.Key) || !got.Time.Equal(want.Time) || got.Partition != ByKey {
				t.Errorf("%s gives %+v (%v)", line, got, err)
			}
		}
	}
	lines := map[int]string{}
	for got, err := range (Rule{Key: "k"}).Records(strings.NewReader("\ufeff\nnull\r\n\n\"null\"\n")) {
		if lines[got.Line] = string(got.Value); err != nil || got.Key != nil || (got.Value == nil) != (got.Line == 2) {
			t.Errorf("line %d gives %+v (%v)", got.Line, got, err)
		}
	}
	if want := map[int]string{2: "", 4: `"null"`}; !maps.Equal(lines, want) {
		t.Errorf("got lines %v, want %v", lines, want)
	}
}

// A record that is too long is said with its line, and is not the end of what is read.
func TestLongRecords(t *testing.T) {
	key := `{"k":"` + strings.Repeat("k", MostBytes/2) + `"}` // a value that fits, but not with its key
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.Join([]string{
			strings.Repeat("a", MostBytes), strings.Repeat("b", MostBytes+1), strings.Repeat("c", 3*longestLine), key, "", "last",
		}, end)
		var got []string
		for r, err := range (Rule{Key: "k"}).Records(strings.NewReader(text)) {
			var long LongError
			switch {
			case errors.As(err, &long):
				got = append(got, fmt.Sprintf("%d: %d", long.Line, long.Bytes))
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, fmt.Sprintf("%.4s %d", r.Value, len(r.Value)))
			}
		}
		want := []string{
			fmt.Sprintf("aaaa %d", MostBytes), fmt.Sprintf("2: %d", MostBytes+1), fmt.Sprintf("3: %d", 3*longestLine+len(end)-1), // of such a line not all is looked at
			fmt.Sprintf("4: %d", len(key)+MostBytes/2), "last 4",
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %q at the end of lines: %v, want %v", end, got, want)
		}
	}
	failing := io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(errors.New("gone")))
	var errs []string
	for _, err := range (Rule{}).Records(failing) {
		errs = append(errs, fmt.Sprint(err))
	}
	if !slices.Equal(errs, []string{"<nil>", "line 2: gone"}) {
		t.Errorf("a reader that fails: %v", errs)
	}
}

// The broker takes what is said to be the greatest record.
func TestGreatestRecord(t *testing.T) {
	c, ctx := dial(t, start(t)), within(t)
	if err := c.CreateTopics(ctx, 1, "orders"); err != nil {
		t.Fatal(err)
	}
	if err := c.Send(ctx, "orders", []Record{{Value: bytes.Repeat([]byte("x"), MostBytes-10), Key: []byte("0123456789"), Time: time.Now()}}); err != nil {
		t.Error(err)
	}
}

func TestWatchSeesWhatIsCommitted(t *testing.T) {
	addr := start(t)
	ctx := within(t)
	if err := dial(t, addr).CreateTopics(ctx, 1, "totals"); err != nil {
		t.Fatal(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.TransactionalID("test"), kgo.DefaultProduceTopic("totals"))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	begin := func(value string) {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := producer.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	end := func(how kgo.TransactionEndTry) {
		if err := producer.EndTransaction(ctx, how); err != nil {
			t.Fatal(err)
		}
	}
	begin("aborted")
	end(kgo.TryAbort)
	begin("committed")
	end(kgo.TryCommit)
	begin("open")
	w, err := Watch(addr, "totals")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got, err := w.Next(ctx)
	if err != nil || len(got) != 1 || string(got[0].Value) != "committed" {
		t.Errorf("got %+v (%v)", got, err)
	}
	if rest, err := w.Rest(ctx); err != nil || len(rest) != 0 {
		t.Errorf("the rest is %+v (%v)", rest, err)
	}
}

// A group has caught up when it has committed all that is there; topics that come later can be watched, too.
func TestCaughtUp(t *testing.T) {
	addr := start(t)
	ctx := within(t)
	c := dial(t, addr)
	for range 2 { // the second time they are there
		if err := c.EnsureTopics(ctx, 2, "orders", "other"); err != nil {
			t.Fatal(err)
		}
	}
	caughtUp := func(want bool) {
		t.Helper()
		if got, err := c.CaughtUp(ctx, "group", "orders", "other"); err != nil || got != want {
			t.Fatalf("caught up: %v (%v), want %v", got, err, want)
		}
	}
	caughtUp(true) // nothing is there to be read
	if err := c.Send(ctx, "orders", []Record{{Value: []byte("1")}, {Value: []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	caughtUp(false)
	commit := func(at int64) {
		t.Helper()
		var offsets kadm.Offsets
		offsets.AddOffset("orders", 0, at, -1)
		if err := kadm.NewClient(c.kafka).CommitAllOffsets(ctx, "group", offsets); err != nil {
			t.Fatal(err)
		}
	}
	commit(1)
	caughtUp(false)
	commit(2)
	caughtUp(true)

	w, err := Watch(addr, "other")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Add("orders", "other")
	if got, err := w.Rest(ctx); err != nil || len(got) != 2 {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit  time.Duration
		count string
		want  time.Time
	}{
		{0, "1500", time.Unix(1, 5e8)},
		{0, "9223372036854", LastTime},
		{0, "253402300799999", LastTime}, // the year 9999
		{0, "-1", FirstTime},             // which is none
		{time.Second, "2", time.Unix(2, 0)},
		{time.Second, "253402300799", LastTime},
		{time.Second, "9223372036854775807", LastTime},
		{time.Second, "-9223372036854775808", FirstTime},
		{time.Microsecond, "1500000", time.Unix(1, 5e8)},
		{time.Microsecond, "-1500000", FirstTime},
		{time.Microsecond, "253402300799999999", LastTime},
		{time.Nanosecond, "1500000001", time.Unix(1, 500000001)},
		{time.Nanosecond, "9223372036854775807", LastTime},
	} {
		if got := (Rule{Time: "t", Unit: c.unit}).Record([]byte(`{"t":` + c.count + `}`)); !got.Time.Equal(c.want) {
			t.Errorf("%s of %v: got %v, want %v", c.count, c.unit, got.Time, c.want)
		}
	}
}

// What a rule makes of any time, a reader gets as it was sent.
func TestExtremeTimes(t *testing.T) {
	addr := start(t)
	c := dial(t, addr)
	ctx := within(t)
	if err := c.CreateTopics(ctx, 1, "times"); err != nil {
		t.Fatal(err)
	}
	var sent []Record
	for _, text := range []string{
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:01Z", "1677-09-21T00:12:43Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "2026-01-31T12:00:00Z",
		"2262-04-11T23:47:16.854Z", "2262-04-11T23:47:16.8549Z", "2262-04-11T23:47:17Z", "9999-12-31T23:59:59.999999Z",
	} {
		sent = append(sent, (Rule{Time: "at"}).Record([]byte(`{"at":"`+text+`"}`)))
	}
	if err := c.Send(ctx, "times", sent); err != nil {
		t.Fatal(err)
	}
	w, err := Watch(addr, "times")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	got, err := w.Rest(ctx)
	if err != nil || len(got) != len(sent) {
		t.Fatalf("got %d records (%v), want %d", len(got), err, len(sent))
	}
	for i, r := range got {
		if want := sent[i].Time.Truncate(time.Millisecond); !r.Time.Equal(want) {
			t.Errorf("%s comes back as of %v, want %v", r.Value, r.Time.UTC(), want.UTC())
		}
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(t.Context(), io.Discard, "/nowhere/eoc"); err == nil {
		t.Error("a missing command starts")
	}
	t.Setenv("DEVKAFKA_TEST_AS", "nothing")
	if _, err := Start(t.Context(), io.Discard, os.Args[0]); err == nil || !strings.Contains(err.Error(), "ended before it said its address") {
		t.Errorf("a command that ends gives %v", err)
	}
}

// A broker ends when the process that started it is killed.
func TestBrokerDiesWithItsParent(t *testing.T) {
	t.Setenv("DEVKAFKA_TEST_AS", "parent")
	parent := exec.Command(os.Args[0])
	stdin, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	defer parent.Process.Kill()
	var addr string
	if _, err := fmt.Fscan(stdout, &addr); err != nil {
		t.Fatal(err)
	}
	c := dial(t, addr)
	if err := c.kafka.Ping(within(t)); err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	// The broker holds standard output of nobody, so it is asked until it does not answer.
	for ctx := within(t); ; {
		if ctx.Err() != nil {
			t.Fatal("the broker lives on")
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			conn.Close()
		}
	}
}

// What is wrong with a file is said with its name, and where.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "clicks.jsonl")
	if err := os.WriteFile(path, []byte("{}\n\n"+strings.Repeat("x", 3<<20)+"\nlast"), 0o666); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range (Rule{}).File(t.Context(), path) {
		got = append(got, fmt.Sprintf("%s %v", r.Value, err))
	}
	want := []string{"{} <nil>", fmt.Sprintf(" %s:3: a record of %d bytes is not fed: clients send %d at most, key and value, unless told otherwise; make it smaller or leave it out",
		path, 3<<20, MostBytes), "last <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, says := range map[string]string{dir: dir + " is a folder; expected a file with a record in each line", path + "x": "no such file"} {
		n := 0
		for _, err := range (Rule{}).File(t.Context(), name) {
			if n++; err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", name, err, says)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d times", name, n)
		}
	}
}
