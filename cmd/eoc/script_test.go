package main

import (
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eoc-lang/eoc/internal/golden"
)

// TestMain lets the scripts run eoc as a process of its own, and the pages what stands for Kafka's tools.
func TestMain(m *testing.M) {
	commands := map[string]func(){"eoc": main}
	maps.Copy(commands, standIns)
	testscript.Main(m, commands)
}

// TestScript runs testdata/script: a file for each verb.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(),
		Setup: func(env *testscript.Env) error {
			// A script has no home. Its eoc keeps build trees in the script's folder, but Go's caches are those of
			// this machine: the scripts build without a network.
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
				out, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, strings.TrimSpace(string(out)))
			}
			return nil
		},
	})
}
