package kafkatest

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/eoc-lang/eoc/internal/skip"
)

// Version is the version of Apache Kafka that the tests run against.
const Version = "4.4.0"

//go:embed pom.xml
var pom []byte

// errMissing is an installation that lacks what a broker needs.
var errMissing = errors.New(skip.NoKafka)

// kafka is what a broker needs: the java command, a folder with Kafka's jars, and further flags for java.
type kafka struct {
	java, lib string
	flags     []string
}

// installed finds it.
func installed() (k kafka, err error) {
	if k.java, err = exec.LookPath("java"); err != nil {
		return k, fmt.Errorf("%w: java is not installed; install a JDK or JRE, version 17 or later (Debian: openjdk-17-jre-headless)", errMissing)
	}
	if k.lib, err = jars(); err != nil {
		return k, err
	}
	classes, err := k.archive()
	if classes != "" {
		k.flags = []string{"-XX:SharedArchiveFile=" + classes}
	}
	return k, err
}

// jars returns a folder with the jars of Kafka. The first call on a machine fetches them with
// Maven into the user's cache. A folder that is there is complete: it gets its name last. The lock
// keeps test packages that run side by side from fetching twice.
func jars() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "eoc", "kafka-"+Version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := fetch(dir); err != nil {
		return "", err
	}
	return dir, nil
}

func fetch(dir string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%w: Kafka's jars are not in %s and Maven, which fetches them, is not installed; install it (Debian: maven)", errMissing, dir)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "kafka-*.part")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	project := filepath.Join(tmp, "pom.xml")
	if err := os.WriteFile(project, pom, 0o644); err != nil {
		return err
	}
	lib := filepath.Join(tmp, "lib")
	cmd := exec.Command(mvn, "-q", "-B", "-f", project, "-Dkafka.version="+Version,
		"dependency:copy-dependencies", "-DoutputDirectory="+lib)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: Maven could not fetch Kafka %s: %v\n%s", errMissing, Version, err, out)
	}
	return os.Rename(lib, dir)
}
