package memwatch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// use is the memory that a cgroup uses, in bytes.
type use struct {
	total int64
	cache int64 // page cache of files, which the kernel reclaims
	stuck bool  // processes wait for memory
}

// working returns the memory that the kernel cannot reclaim.
func (u use) working() int64 { return max(0, u.total-u.cache) }

// readUse reads the memory that a cgroup uses. Unknown values are 0.
func readUse(dir string) use {
	read := func(file string) []byte {
		text, _ := os.ReadFile(filepath.Join(dir, file)) // absent in the other version, or gone
		return bytes.TrimSpace(text)
	}
	total := read("memory.usage_in_bytes")
	prefix := "total_" // includes the cgroups below it
	if len(total) == 0 {
		total, prefix = read("memory.current"), ""
	}
	u := use{stuck: bytes.Contains(read("memory.oom_control"), []byte("under_oom 1"))}
	u.total, _ = strconv.ParseInt(string(total), 10, 64)
	for line := range bytes.Lines(read("memory.stat")) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if string(name) == prefix+"inactive_file" || string(name) == prefix+"active_file" {
			n, _ := strconv.ParseInt(string(value), 10, 64)
			u.cache += n
		}
	}
	return u
}
