package kafkatest

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

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

// installed finds it, once for all tests of a package.
var installed = sync.OnceValues(func() (k kafka, err error) {
	if k.java, err = java(); err != nil {
		return k, err
	}
	if k.lib, err = jars(); err != nil {
		return k, err
	}
	k.useArchive(os.Stderr)
	return k, nil
})

// useArchive makes brokers start faster. If it cannot, it says why in a line like that of skip.Loudly, and they start all the same.
func (k *kafka) useArchive(out io.Writer) {
	switch classes, err := k.archive(); {
	case err != nil:
		fmt.Fprintf(out, "SKIPPED the archive of a broker's classes, without which brokers start slower: %v\n", err)
	case classes != "":
		k.flags = []string{"-XX:SharedArchiveFile=" + classes}
	}
}

// java finds the java command, of a version that Kafka runs on.
func java() (string, error) {
	const least, help = 17, "install a JDK or JRE, version 17 or later (Debian: openjdk-17-jre-headless)"
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("%w: java is not installed; %s", errMissing, help)
	}
	said, err := exec.Command(path, "-version").CombinedOutput()
	switch version, feature := javaVersion(said); {
	case err != nil || feature == 0: // macOS has a java that says where to get one
		return "", fmt.Errorf("%w: %s -version says %q and no version (%v); %s", errMissing, path, said, err, help)
	case feature < least:
		return "", fmt.Errorf("%w: %s is version %s; %s", errMissing, path, version, help)
	}
	return path, nil
}

// javaVersions is the line of java -version with the version, of which the number of the feature release is a part. That of Java 8 and older stands behind a 1.
var javaVersions = regexp.MustCompile(`(?m)^\w+ version "((?:1\.)?([0-9]{1,4})[^"]*)"`)

// javaVersion is the version in what java -version says, and its feature release; "" and 0 if there is none.
func javaVersion(said []byte) (version string, feature int) {
	found := javaVersions.FindSubmatch(said)
	if found == nil {
		return "", 0
	}
	feature, _ = strconv.Atoi(string(found[2])) // they are digits
	return string(found[1]), feature
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
