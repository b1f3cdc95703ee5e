//go:build !unix

package kafkatest

import "errors"

// errLocked is a lock that somebody else has.
var errLocked = errors.New("locked by somebody else")

// lock does nothing here: two packages may fetch at once, and the second to finish fails on its rename.
func lock(string) (unlock func(), err error) { return func() {}, nil }

// tryLock does nothing here: two packages may choose the same port, and the second to start a broker there fails.
func tryLock(string) (unlock func(), err error) { return func() {}, nil }
