//go:build !unix && !windows

package devkafka

import "os/exec"

// OwnGroup does nothing here. The broker ends with its standard input.
func OwnGroup(*exec.Cmd) {}
