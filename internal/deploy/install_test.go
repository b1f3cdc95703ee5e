package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// root is the top of the repository, seen from this package, and folder where the files are.
const (
	root   = "../.."
	folder = root + "/docs/deploy"
)

// stopSeconds is how long a supervisor has to wait for the last checkpoint: 25 s at most, and what ending a process takes.
const stopSeconds = 30

// port is where all files here have a program show itself.
const port = "9400"

// programHelp is what the program of examples/orders.eo says to --help. Every program has these flags and variables.
func programHelp(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "run", "./golden/orders", "--help")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as programs are compiled
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Flags and variables in these files are ones that programs have.
func TestFlagsAndVariables(t *testing.T) {
	help := programHelp(t)
	flag := regexp.MustCompile(`(?m)(?:^ExecStart=|^ *- |\s)(--[a-z][a-z-]*)`)
	for name, least := range map[string]int{"Dockerfile": 3, "kubernetes.yaml": 4, "orders.service": 3} {
		text := read(t, name)
		found := 0
		words := regexp.MustCompile(`\bEO_[A-Z_]+`).FindAllString(text, -1)
		if name != "Dockerfile" { // its flags are Docker's
			for _, m := range flag.FindAllStringSubmatch(text, -1) {
				words = append(words, m[1])
			}
		}
		for _, w := range words {
			found++
			if !regexp.MustCompile(`(?m)^ +` + w + `\b`).MatchString(help) {
				t.Errorf("%s: no program has %s", name, w)
			}
		}
		if found < least {
			t.Errorf("%s: %d flags and variables, want %d", name, found, least)
		}
	}
}

// object is a part of a YAML document.
type object map[string]any

// at follows a path of keys, and of indices of lists.
func (o object) at(t *testing.T, path string) any {
	t.Helper()
	var v any = map[string]any(o)
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				t.Fatalf("%s: no %s in a list of %d", path, key, len(x))
			}
			v = x[i]
		default:
			t.Fatalf("%s: nothing at %s", path, key)
		}
	}
	return v
}

// One copy, stopped before the next is started, with the time for its last checkpoint, a volume and few rights.
func TestKubernetes(t *testing.T) {
	var objects []object
	for d := yaml.NewDecoder(bytes.NewReader([]byte(read(t, "kubernetes.yaml")))); ; {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	if len(objects) != 2 {
		t.Fatalf("%d objects", len(objects))
	}
	set, service := objects[0], objects[1]
	const program = "spec.template.spec.containers.0."
	for path, want := range map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "spec.replicas": 1, "spec.updateStrategy.type": "RollingUpdate",
		"spec.template.spec.securityContext.runAsNonRoot":    true,
		"spec.template.spec.securityContext.fsGroup":         65532,
		program + "securityContext.readOnlyRootFilesystem":   true,
		program + "securityContext.allowPrivilegeEscalation": false,
		program + "startupProbe.httpGet.path":                "/healthz",
		program + "livenessProbe.httpGet.path":               "/healthz",
		program + "readinessProbe.httpGet.path":              "/readyz",
		program + "readinessProbe.httpGet.port":              set.at(t, program+"ports.0.name"),
		program + "volumeMounts.0.name":                      set.at(t, "spec.volumeClaimTemplates.0.metadata.name"),
		"spec.serviceName":                                   service.at(t, "metadata.name"),
		"spec.volumeClaimTemplates.0.spec.accessModes.0":     "ReadWriteOncePod",
	} {
		if got := set.at(t, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	labels := set.at(t, "spec.template.metadata.labels").(map[string]any)["app.kubernetes.io/name"]
	for _, selector := range []any{set.at(t, "spec.selector.matchLabels"), service.at(t, "spec.selector")} {
		if got := selector.(map[string]any)["app.kubernetes.io/name"]; got != labels || got == nil {
			t.Errorf("a selector wants %v, pods are %v", got, labels)
		}
	}
	if grace := set.at(t, "spec.template.spec.terminationGracePeriodSeconds").(int); grace < stopSeconds {
		t.Errorf("%d s to stop, want %d at least", grace, stopSeconds)
	}
	args := set.at(t, program+"args").([]any)
	mount := set.at(t, program+"volumeMounts.0.mountPath").(string)
	if !slices.Contains(args, any("--http=0.0.0.0:"+port)) || strconv.Itoa(set.at(t, program+"ports.0.containerPort").(int)) != port {
		t.Errorf("%v does not serve at the port of the container to all", args)
	}
	if !slices.ContainsFunc(args, func(a any) bool { return strings.HasPrefix(a.(string), "--state="+mount+"/") }) {
		t.Errorf("%v keeps no state below %s", args, mount)
	}
}

// The unit does not restart what waits for a person, and leaves time for the last checkpoint.
func TestUnit(t *testing.T) {
	settings := map[string]string{}
	for line := range strings.Lines(read(t, "orders.service")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = value
		}
	}
	if n, err := strconv.Atoi(settings["TimeoutStopSec"]); err != nil || n < stopSeconds {
		t.Errorf("TimeoutStopSec=%s, want %d at least", settings["TimeoutStopSec"], stopSeconds)
	}
	if settings["Restart"] != "on-failure" || settings["StateDirectory"] != "orders" {
		t.Errorf("Restart=%s, StateDirectory=%s", settings["Restart"], settings["StateDirectory"])
	}
	// docs/operations.md says of each code what a supervisor should do.
	page := read(t, filepath.Join("..", "operations.md"))
	var wait []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| .* \| (.*) \|$`).FindAllStringSubmatch(page, -1) {
		if strings.HasPrefix(m[2], "wait for a person") || strings.HasPrefix(m[2], "not restart") {
			wait = append(wait, m[1])
		}
	}
	if len(wait) == 0 {
		t.Fatal("operations.md has nobody wait for anything")
	}
	if got := settings["RestartPreventExitStatus"]; got != strings.Join(wait, " ") {
		t.Errorf("RestartPreventExitStatus=%s, but operations.md has people wait for %v", got, wait)
	}
	last := len(wait) - 1
	if says := "exits with " + strings.Join(wait[:last], ", ") + " or " + wait[last] + " "; !strings.Contains(read(t, filepath.Join("..", "deployment.md")), says) {
		t.Errorf("deployment.md does not say of pods what is to be done when one %s", says)
	}
	if path, err := exec.LookPath("systemd-analyze"); err == nil {
		out, _ := exec.Command(path, "verify", filepath.Join(folder, "orders.service")).CombinedOutput() // the program is missing here, so it fails
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "orders.service") && !strings.Contains(line, "is not executable") {
				t.Errorf("systemd-analyze: %s", line)
			}
		}
	}
}

// The image has the program alone, and shows and keeps what the other files say. That Docker builds it, no test tries.
func TestDockerfile(t *testing.T) {
	text := read(t, "Dockerfile")
	if mod := read(t, filepath.Join(root, "go.mod")); !regexp.MustCompile(`(?m)^go 1\.26`).MatchString(mod) || !strings.Contains(text, "\nFROM golang:1.26 AS build\n") {
		t.Error("the image is built with another version of Go than go.mod wants")
	}
	for _, line := range []string{"FROM scratch", "USER 65532:65532", "VOLUME /state", "EXPOSE " + port, "STOPSIGNAL SIGTERM", `ENTRYPOINT ["/pipeline"]`} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the Dockerfile lacks %q", line)
		}
	}
	for _, step := range []string{"go install -buildvcs=false ./cmd/eoc", `eoc build -o /out/pipeline "$PIPELINE" && /out/pipeline --version`} {
		if !strings.Contains(text, "\nRUN "+step+"\n") {
			t.Errorf("the Dockerfile lacks RUN %s", step)
		}
	}
}
