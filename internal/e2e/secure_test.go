//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/internal/reference"
	"github.com/eoc-lang/eoc/planner"
)

// form is one way to tell the program how it reaches its Kafka.
type form struct {
	job        string   // the connection in the job of the .eo file; "": all comes from the variables of every program
	env, wrong []string // to connect; and what to add so that it does not
	code       int
	why        string
}

func (f form) String() string {
	if f.job == "" {
		return "by variables"
	}
	return "in the job"
}

// run is the example with the connection in its text, if that is where it stands. What eoc finds in its own environment under the name of
// the secret, it must not write into the program.
func (f form) run(t *testing.T, broker *kafkatest.Broker, parallelism, records int) *run {
	text, mode := patient(example(t, "orders")), program.Mode{}
	if f.job != "" {
		text += "\njob orders {\n" + f.job + "\n}\n"
		mode.Secret = "SHOP_SECRET=" + kafkatest.Password
	}
	p := newPipeline(t, "orders", text, broker)
	return newRun(t, p, mode, parallelism, makeLoad(p.graph, seed(t), records))
}

// refused starts the program with the wrong connection.
func (f form) refused(t *testing.T, r *run, env []string) {
	t.Helper()
	p := r.start(t, slices.Concat(env, f.env, f.wrong)...)
	exits(t, p, f.code, f.why)
	quiet(t, p.Log())
}

// TestSecureConnections runs the example over every kind of connection, each to a Kafka that asks for it, as the .eo file says it and as variables do. By one
// of the two it is killed, goes on, and leaves what the reference says; by the other it runs to the end of a short input, since the two differ only in how they
// are read. Wrong connections end it with 7 or 2 and a reason. Nothing that is printed shows a secret, at the most talkative level.
func TestSecureConnections(t *testing.T) {
	t.Parallel()
	broker := kafkatest.Start(t, kafkatest.Options{Secure: true})
	s := broker.Secure
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const another = kafkatest.Password + "-other"
	token, expired := kafkatest.Token(time.Now().Add(time.Hour)), kafkatest.Token(time.Now().Add(-time.Hour))
	password := file("password", kafkatest.Password)
	stranger := strangers(t)
	ca := "EO_TLS_CA=" + s.Authority.CA
	user := func(mechanism, name string) []string {
		return []string{"EO_SASL_MECHANISM=" + mechanism, "EO_SASL_USER=" + name}
	}
	secret := "EO_SASL_PASSWORD=" + kafkatest.Password
	shop := func(addr string, more ...string) []string { // for a job whose brokers and authorities are env(…)
		return append(more, "EO_BROKERS=", "SHOP_KAFKA="+addr, "SHOP_CA="+s.Authority.CA)
	}
	for _, c := range []struct {
		name         string
		whole, brief form
	}{
		{"TLS",
			form{"", []string{"EO_BROKERS=" + s.TLS, ca}, []string{"EO_TLS=false"}, 7, "speaks TLS"},
			form{fmt.Sprintf("brokers %q  tls files(ca: %q)", s.TLS, s.Authority.CA), []string{"EO_BROKERS="}, []string{"EO_TLS=false"}, 7, "speaks TLS"}},
		{"mTLS",
			form{`brokers env("SHOP_KAFKA")  tls files(ca: env("SHOP_CA"), cert: env("SHOP_CERT"), key: env("SHOP_KEY"))`,
				shop(s.MTLS, "SHOP_CERT="+s.Client.Cert, "SHOP_KEY="+s.Client.Key),
				[]string{"SHOP_CERT=" + stranger.Cert, "SHOP_KEY=" + stranger.Key}, 7, "asks for a certificate"},
			form{"", []string{"EO_BROKERS=" + s.MTLS, ca, "EO_TLS_CERT=" + s.Client.Cert, "EO_TLS_KEY=" + s.Client.Key},
				[]string{"EO_TLS_CERT=", "EO_TLS_KEY="}, 7, "asks for a certificate"}},
		{"PLAIN",
			form{"", append(user("plain", kafkatest.User), "EO_BROKERS="+s.Plain, secret), []string{"EO_SASL_PASSWORD=" + another}, 7, "SASL_AUTHENTICATION_FAILED"},
			form{`brokers env("SHOP_KAFKA")  sasl plain(user: "` + kafkatest.User + `", password: secret("SHOP_SECRET"))`,
				shop(s.Plain, "SHOP_SECRET="+kafkatest.Password), []string{"SHOP_SECRET=" + another}, 7, "SASL_AUTHENTICATION_FAILED"}},
		{"SCRAM-SHA-256",
			form{"", append(user("scram256", kafkatest.User256), "EO_BROKERS="+s.Scram, ca, "EO_SASL_PASSWORD_FILE="+password),
				[]string{"EO_SASL_MECHANISM=plain"}, 7, "it has SCRAM-SHA-256, SCRAM-SHA-512"},
			form{`brokers env("SHOP_KAFKA")  tls files(ca: env("SHOP_CA"))  sasl scram256(user: env("SHOP_USER"), password: secret("SHOP_SECRET"))`,
				shop(s.Scram, "SHOP_USER="+kafkatest.User256, "SHOP_SECRET_FILE="+password),
				[]string{"SHOP_SECRET_FILE=" + file("another", another)}, 7, "SASL_AUTHENTICATION_FAILED"}},
		{"SCRAM-SHA-512",
			form{`brokers env("SHOP_KAFKA")  tls files(ca: env("SHOP_CA"))  sasl scram512(user: env("SHOP_USER", "` + kafkatest.User + `"), password: secret("SHOP_SECRET"))`,
				shop(s.Scram, "SHOP_SECRET="+kafkatest.Password), []string{"SHOP_SECRET="}, 2, "neither SHOP_SECRET nor SHOP_SECRET_FILE is set"},
			form{"", append(user("scram512", kafkatest.User), "EO_BROKERS="+s.Scram, ca, secret), []string{"EO_SASL_PASSWORD=" + another}, 7, "SASL_AUTHENTICATION_FAILED"}},
		{"OAUTHBEARER",
			form{`brokers env("SHOP_KAFKA")  tls on  sasl oauthbearer(token: secret("SHOP_SECRET"))`,
				shop(s.OAuth, trusted(s.Authority.CA), "SHOP_SECRET="+token), []string{"SHOP_SECRET=" + expired}, 7, "SASL_AUTHENTICATION_FAILED"},
			form{"", []string{"EO_BROKERS=" + s.OAuth, ca, "EO_SASL_MECHANISM=oauthbearer", "EO_SASL_TOKEN_FILE=" + file("token", token)},
				[]string{"EO_SASL_MECHANISM=none"}, 7, "wants SASL"}},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.whole), func(t *testing.T) { c.whole.live(t, broker) })
		t.Run(fmt.Sprint(c.name, " ", c.brief), func(t *testing.T) { c.brief.finish(t, broker) })
	}
	t.Run("page", func(t *testing.T) { securePage(t, broker, password, file("token", token)) })
}

// strangers is a certificate of an authority of which no broker knows.
func strangers(t *testing.T) kafkatest.Identity {
	t.Helper()
	authority, err := kafkatest.NewAuthority(t.TempDir(), "another")
	if err != nil {
		t.Fatal(err)
	}
	id, err := authority.Issue("stranger", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// trusted makes the program's system trust an authority. What macOS trusts no variable can say: there one of the program names the authority.
func trusted(ca string) string {
	if runtime.GOOS == "darwin" {
		return "EO_TLS_CA=" + ca
	}
	return "SSL_CERT_FILE=" + ca
}

// live has the program killed and go on, and looks everywhere for secrets.
func (f form) live(t *testing.T, broker *kafkatest.Broker) {
	r := f.run(t, broker, 2, caseRecords)
	talkative := []string{debug, "GOTRACEBACK=system", "EO_HTTP=127.0.0.1:0", "EO_UI=true", "EO_PPROF=true"}
	f.refused(t, r, talkative)

	env := append(talkative, f.env...)
	first := r.halfDone(t, env...)
	commandLine(t, first)
	r.silentPages(t, first)
	r.silentVerbs(t, env)
	// A crash, of which Go prints every goroutine. Some of them still run, and Go may fault on a stack that moves while it prints it:
	// the trace counts, and not how the program ends after it.
	first.Signal(t, syscall.SIGQUIT)
	exit := first.Wait(t, dieLimit, "to crash")
	if log := first.Log(); !strings.Contains(log, "SIGQUIT: quit") || !strings.Contains(log, "goroutine ") {
		t.Fatalf("%v without a trace, want a crash; the end of its log:\n%s", exit, first.Tail(20))
	}
	quiet(t, first.Log())
	r.more = env
	last := r.start(t, env...)
	r.complete(t, last)
	quiet(t, last.Log())
	for _, flag := range []string{"--help", "--version", "--nonsense"} {
		r.silentAnswer(t, env, flag)
	}
	r.silentVerbs(t, env)
	f.silentFiles(t, r)
}

// finish runs the program to the end of a short input.
func (f form) finish(t *testing.T, broker *kafkatest.Broker) {
	const records = 400
	r := f.run(t, broker, 1, records)
	r.feeder.finish(t, r.pipeline, nil)
	r.want = reference.Run(r.graph, r.input)
	f.refused(t, r, []string{debug})
	ended := r.start(t, append([]string{debug, "EO_UNTIL=latest"}, f.env...)...)
	exits(t, ended, 0)
	r.judge(t, ended)
	quiet(t, ended.Log())
	f.silentFiles(t, r)
}

// quiet fails if a text shows a secret.
func quiet(t *testing.T, text string) {
	t.Helper()
	if text == "" {
		t.Error("nothing was printed: nothing was searched")
	}
	if leaks := kafkatest.Leaks(text); leaks != nil {
		t.Errorf("a secret is shown:\n%s", strings.Join(leaks, ""))
	}
}

// commandLine fails if others can see a secret in the list of processes.
func commandLine(t *testing.T, p *program.Process) {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid()))
	if err != nil {
		t.Logf("the command line is not looked at: %v", err) // only Linux has it there
		return
	}
	quiet(t, string(line))
}

// silentPages looks at all that a program serves, profiles and the headers of answers included.
func (r *run) silentPages(t *testing.T, p *program.Process) {
	t.Helper()
	address := ""
	poll(t, p, "to say where it shows itself", func() bool {
		m := regexp.MustCompile(`"http":"(http://[^"]+)"`).FindStringSubmatch(p.Log())
		if m != nil {
			address = m[1]
		}
		return m != nil
	})
	defer http.DefaultClient.CloseIdleConnections()
	get := func(path string) string {
		t.Helper()
		answer, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s (%v)", path, answer.Status, err)
		}
		quiet(t, string(body)+fmt.Sprint(answer.Header))
		return string(body)
	}
	index := get("/")
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/ui/", "/debug/pprof/"} {
		if !strings.Contains(index, path+" ") {
			t.Errorf("%s is not among what is served:\n%s", path, index)
		}
		get(path)
	}
	for _, path := range []string{"/ui/graph.json", "/ui/status.json", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
		get(path)
	}
}

// silentVerbs looks at what the verbs that only look print.
func (r *run) silentVerbs(t *testing.T, env []string) {
	t.Helper()
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}, {"state"}, {"state", "--json"}, {"verify"}, {"txn", "list"}, {"doctor", "--help"}} {
		r.silentAnswer(t, env, args...)
	}
}

func (r *run) silentAnswer(t *testing.T, env []string, args ...string) {
	t.Helper()
	p := program.Start(t, r.binary, program.Config{Args: args, Env: append(r.environment(r.state, 1, r.interval), env...)})
	p.Wait(t, stopLimit, strings.Join(args, " "))
	quiet(t, p.Log())
}

// silentFiles looks at what there is besides what is printed: plans, generated Go, the binary and the files of the state.
func (f form) silentFiles(t *testing.T, r *run) {
	t.Helper()
	if f.job != "" {
		sources, err := filepath.Glob(filepath.Join(program.Source(r.binary), "*.go"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("the generated Go is not there: %v", err)
		}
		for _, source := range sources {
			code, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			quiet(t, string(code))
		}
	}
	for _, write := range []func(io.Writer, *planner.Graph) error{planner.WriteText, planner.WriteDOT, planner.WriteJSON, planner.WriteSVG} {
		var plan strings.Builder
		if err := write(&plan, r.graph); err != nil {
			t.Fatal(err)
		}
		quiet(t, plan.String())
	}
	binary, err := os.ReadFile(r.binary)
	if err != nil {
		t.Fatal(err)
	}
	quiet(t, string(binary))
	err = filepath.WalkDir(r.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if len(content) > 0 {
			quiet(t, string(content))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
