//go:build !linux || (!amd64 && !arm64)

package faultdisk

import "io/fs"

func install() error { return ErrUnsupported }

func inodeOf(fs.FileInfo) (uint64, error) { return 0, ErrUnsupported }
