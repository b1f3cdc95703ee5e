//go:build unix

package kafkatest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A version is told from whatever stands around it, in the ways of writing it that there have been.
func TestJavaVersion(t *testing.T) {
	for _, c := range []struct {
		said, version string
		feature       int
	}{
		{"openjdk version \"17.0.12\" 2024-07-16\nOpenJDK Runtime Environment (build 17.0.12+7)\n", "17.0.12", 17},
		{"java version \"1.8.0_402\"\nJava(TM) SE Runtime Environment (build 1.8.0_402-b08)\n", "1.8.0_402", 8},
		{"Picked up JAVA_TOOL_OPTIONS: -Dx=\"1\"\nopenjdk version \"21\" 2023-09-19\r\n", "21", 21},
		{"openjdk version \"26-ea\" 2026-03-17\n", "26-ea", 26},
		{"openjdk version \"11.0.2\" 2019-01-15\n", "11.0.2", 11},
		{"openjdk version \"10\" 2018-03-20\n", "10", 10},
		{"Unable to locate a Java Runtime.\n", "", 0},
		{"", "", 0},
	} {
		if version, feature := javaVersion([]byte(c.said)); version != c.version || feature != c.feature {
			t.Errorf("%q: version %q of %d, want %q of %d", c.said, version, feature, c.version, c.feature)
		}
	}
}

// A java that cannot run a broker is as good as none, and the reason says what it is.
func TestJavaTooOld(t *testing.T) {
	for script, want := range map[string]string{
		"":                                    "java is not installed",
		`echo 'java version "1.8.0_402"' >&2`: "is version 1.8.0_402; install a JDK or JRE, version 17 or later",
		"echo 'Unable to locate a Java Runtime.'; exit 1": `says "Unable to locate a Java Runtime.\n" and no version (exit status 1)`,
	} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		if script != "" {
			if err := os.WriteFile(filepath.Join(dir, "java"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := java(); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
	}
}

// Without the archive of its classes a broker is started as any, and it is said why.
func TestNoArchive(t *testing.T) {
	var out strings.Builder
	k := kafka{java: filepath.Join(t.TempDir(), "java"), lib: t.TempDir()}
	k.useArchive(&out)
	if said := out.String(); len(k.flags) != 0 || !strings.HasPrefix(said, "SKIPPED the archive") || !strings.Contains(said, k.java) {
		t.Errorf("flags %q, said %q", k.flags, said)
	}
}
