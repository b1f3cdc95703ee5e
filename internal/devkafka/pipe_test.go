//go:build unix

package devkafka

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Reading a pipe ends with ctx, whether nobody has opened it to write, or nobody writes.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clicks.jsonl")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error)
	go func() {
		defer close(read)
		for _, err := range (Rule{}).File(ctx, path) {
			read <- err
		}
	}()
	w, err := os.OpenFile(path, os.O_WRONLY, 0) // when it has been opened to read
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteString("{}\nand"); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, err := range (Rule{}).File(ctx, path+"2") {
		if err == nil {
			t.Error("it reads behind its end")
		}
	}
	if err := syscall.Mkfifo(path+"2", 0o666); err != nil {
		t.Fatal(err)
	}
	for _, err := range (Rule{}).File(ctx, path+"2") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("nobody writes: %v", err)
		}
	}
}
