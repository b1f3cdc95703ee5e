// Package faultdisk is a disk for tests: it loses what was not synced, tears what was being written, runs full and fails.
//
// It sits below every library, at the system calls: a seccomp filter stops pwrite64, ftruncate, fsync, fdatasync, fadvise64, renameat and unlinkat of
// this process and of its children, and a goroutine lets them through, or answers with an error. What it lets through to files of a watched
// directory it writes down. From these notes it makes the directory as a loss of power at any of the calls leaves it behind: of what was not synced each
// write is there, lost, or torn at any byte, and of renames and removals that no sync of the directory has followed the last ones are missing.
//
// A library's own hooks would show what that library believes to do. bbolt's are a function that opens its file, which has to be an *os.File, and
// a private one for its writes; its syncs have none, and neither reaches the renaming of files around it.
//
// write is let through unseen, since Go's runtime uses it itself: files are watched that are written with WriteAt, as bbolt's is.
package faultdisk
