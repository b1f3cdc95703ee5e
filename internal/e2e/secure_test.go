//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eoc-lang/eoc/internal/e2e/program"
	"github.com/eoc-lang/eoc/internal/kafkatest"
	"github.com/eoc-lang/eoc/planner"
)

// secureJob is the example with a connection in the text, whose secret has a name of its own.
const secureJob = `
job orders {
  brokers env("SHOP_KAFKA")
  tls     files(ca: env("SHOP_CA"))
  sasl    scram512(user: env("SHOP_USER", "shop"), password: secret("SHOP_PASSWORD"))
}
`

// TestSecureConnections runs the example over every kind of connection, each to a Kafka that asks for it: it is killed, goes on, and leaves what
// the reference says. Wrong connections end it with 7 or 2 and a reason. Nothing that is printed shows a secret, at the most talkative level.
func TestSecureConnections(t *testing.T) {
	t.Parallel()
	broker := kafkatest.Start(t, kafkatest.Options{Secure: true})
	s := broker.Secure
	token := filepath.Join(t.TempDir(), "token")
	password := filepath.Join(t.TempDir(), "password")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token, kafkatest.Token(time.Now().Add(time.Hour)))
	write(password, kafkatest.Password)
	ca := "EO_TLS_CA=" + s.Authority.CA
	user := func(mechanism string) []string {
		return []string{"EO_SASL_MECHANISM=" + mechanism, "EO_SASL_USER=" + kafkatest.User}
	}
	secret := "EO_SASL_PASSWORD=" + kafkatest.Password
	plain := patient(example(t, "orders"))
	for _, c := range []struct {
		name, text string
		env, wrong []string // to connect; and what to add so that it does not
		code       int
		why        string
	}{
		{"TLS", plain, []string{"EO_BROKERS=" + s.TLS, ca}, []string{"EO_TLS=false"}, 7, "speaks TLS"},
		{"mTLS", plain, []string{"EO_BROKERS=" + s.MTLS, ca, "EO_TLS_CERT=" + s.Client.Cert, "EO_TLS_KEY=" + s.Client.Key},
			[]string{"EO_TLS_CERT=", "EO_TLS_KEY="}, 7, "asks for a certificate"},
		{"PLAIN", plain, append(user("plain"), "EO_BROKERS="+s.Plain, secret), []string{secret + "-other"}, 7, "SASL_AUTHENTICATION_FAILED"},
		{"SCRAM-SHA-256", plain, append(user("scram256"), "EO_BROKERS="+s.Scram, ca, "EO_SASL_PASSWORD_FILE="+password),
			[]string{"EO_SASL_MECHANISM=plain"}, 7, "it has SCRAM-SHA-256, SCRAM-SHA-512"},
		{"SCRAM-SHA-512 in the job", plain + secureJob, []string{"EO_BROKERS=", "SHOP_KAFKA=" + s.Scram, "SHOP_CA=" + s.Authority.CA, "SHOP_PASSWORD=" + kafkatest.Password},
			[]string{"SHOP_PASSWORD="}, 2, "neither SHOP_PASSWORD nor SHOP_PASSWORD_FILE is set"},
		{"OAUTHBEARER", plain, []string{"EO_BROKERS=" + s.OAuth, ca, "EO_SASL_MECHANISM=oauthbearer", "EO_SASL_TOKEN_FILE=" + token},
			[]string{"EO_SASL_MECHANISM=none"}, 7, "wants SASL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPipeline(t, "orders", c.text, broker)
			r := newRun(t, p, program.Mode{}, 2, makeLoad(p.graph, seed(t), caseRecords))
			env := append([]string{"EO_LOG_LEVEL=debug", "GOTRACEBACK=system", "EO_HTTP=127.0.0.1:0", "EO_UI=true", "EO_PPROF=true"}, c.env...)
			wrong := r.start(t, append(env, c.wrong...)...)
			exits(t, wrong, c.code, c.why)
			quiet(t, wrong.Log())

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
			r.silent(t, env)
		})
	}
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

// silent looks at what there is besides the log: help, plans, the binary and the files of the state.
func (r *run) silent(t *testing.T, env []string) {
	t.Helper()
	for _, flag := range []string{"--help", "--version", "--nonsense"} {
		r.silentAnswer(t, env, flag)
	}
	r.silentVerbs(t, env)
	for _, write := range []func(io.Writer, *planner.Graph) error{planner.WriteText, planner.WriteDOT, planner.WriteJSON, planner.WriteSVG} {
		var plan strings.Builder
		if err := write(&plan, r.graph); err != nil {
			t.Fatal(err)
		}
		quiet(t, plan.String())
	}
	binary, err := os.ReadFile(r.binary) // with the generated code
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
