package state

import "golang.org/x/sys/unix"

// shown is what a file system is that holds no files but shows what the kernel knows; "": it is an ordinary one. Who is root is told by no right that
// nothing can be made there.
func shown(dir string) string {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return ""
	}
	switch int64(s.Type) {
	case unix.PROC_SUPER_MAGIC:
		return "processes (proc)"
	case unix.SYSFS_MAGIC:
		return "devices (sysfs)"
	case unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return "control groups (cgroup)"
	}
	return ""
}
