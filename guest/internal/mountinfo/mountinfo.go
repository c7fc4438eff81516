// Package mountinfo reads the mounts of the runtime.
package mountinfo

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// Mount is one line of the mount table.
type Mount struct {
	Point   string
	Kind    string
	Source  string
	Options string // of the file system
}

// Read reads the mount table of this process.
func Read() ([]Mount, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var table []Mount
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<16)
	for lines.Scan() {
		if m, ok := parse(lines.Text()); ok {
			table = append(table, m)
		}
	}
	return table, lines.Err()
}

// parse parses one line (proc_pid_mountinfo(5)). The fifth field is the mount point; type, source
// and options follow a single dash.
func parse(line string) (Mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	fields, kind := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 5 || len(kind) < 2 {
		return Mount{}, false
	}
	m := Mount{Point: Unescape(fields[4]), Kind: kind[0], Source: Unescape(kind[1])}
	if len(kind) > 2 {
		m.Options = kind[2]
	}
	return m, true
}

// Unescape converts the \ooo escapes of a mount table to bytes.
func Unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
