package memory

import (
	"bufio"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// machine is the memory that Linux has for this process: the least of what its control groups allow and of what the machine has. 0: not known,
// as on other systems. fsys is the file system's root.
func machine(fsys fs.FS) (bytes int64, from string) {
	bytes, from = physical(fsys), "the machine's memory"
	for _, file := range limitFiles(fsys) {
		if n := number(fsys, file); n > 0 && (bytes == 0 || n < bytes) {
			bytes, from = n, path.Base(file)+" of the control group"
		}
	}
	if bytes == 0 {
		return 0, ""
	}
	return bytes, from
}

// limitFiles are the files that may hold a limit: of each group of the process and of those above it. A container sees its own group at the root.
func limitFiles(fsys fs.FS) (files []string) {
	text, err := fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return nil // another system
	}
	for line := range strings.Lines(string(text)) {
		// hierarchy:controllers:path, see cgroups(7).
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, name := "sys/fs/cgroup", "memory.max"
		switch {
		case parts[1] == "": // version 2
		case hasWord(parts[1], "memory"):
			root, name = root+"/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			files = append(files, path.Join(root, at, name))
			if at == "/" {
				break
			}
		}
	}
	return files
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// number is what a file holds, 0 if there is no such file or no number in it, such as "max".
func number(fsys fs.FS, file string) int64 {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// physical is the memory of the machine; 0: not known.
func physical(fsys fs.FS) int64 {
	f, err := fsys.Open("proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// MemTotal:       16303244 kB
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "MemTotal:" {
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
