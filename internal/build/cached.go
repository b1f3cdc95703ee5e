package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Cached is Build for a program that is run at once: the binary is in the user's cache folder, and one that was built there before of
// the same Go, by the same eoc and toolchain, is taken again. Its path is a different one for each content. Output does not matter.
func Cached(ctx context.Context, r Request) (string, error) {
	files, err := treeFiles(r.Program)
	if err != nil {
		return "", err
	}
	tool, err := findToolchain(ctx, files["go.mod"])
	if err != nil {
		return "", err
	}
	if here := runtime.GOOS + "/" + runtime.GOARCH; tool.system != here {
		return "", &EnvironmentError{What: fmt.Sprintf("a program for %s cannot run on %s", tool.system, here), Help: "unset GOOS and GOARCH"}
	}
	trees, err := openCache("build")
	if err != nil {
		return "", err
	}
	binaries, err := openCache("run")
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %q %q %s %t %t", treeName(files), r.Version, tool.version, tool.system, r.Failpoints, r.Race))
	home := filepath.Join(binaries.dir, hex.EncodeToString(key[:16]))
	output := filepath.Join(home, r.Name+tool.ending)
	if info, err := os.Stat(output); err == nil && info.Mode().IsRegular() {
		now := time.Now()
		os.Chtimes(home, now, now) // else it would be pruned though it is in use
		return output, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", cannotWrite(binaries.dir, err)
	}
	dir, err := trees.place(files)
	if err != nil {
		return "", err
	}
	if err := r.compile(ctx, tool, dir, output); err != nil {
		return "", err
	}
	trees.prune(dir)
	binaries.prune(home)
	return output, nil
}
