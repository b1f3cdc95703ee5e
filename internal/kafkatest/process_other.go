//go:build !linux

package kafkatest

import "os/exec"

// tie does nothing here: a broker outlives tests that die without cleaning up.
func tie(*exec.Cmd) {}
