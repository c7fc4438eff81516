package patched

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
)

// bufferBytes takes the table of most processes in one read, and the longest path in a line.
const bufferBytes = 64 << 10

// file is what code is mapped from.
type file struct {
	path  string
	inode uint64
}

// patches tells whether the kernel changes the code of programs: this one makes system calls, so that it has the table of jumps that is only there then.
func patches() bool {
	maps, err := os.ReadFile("/proc/self/maps")
	return err == nil && strings.Contains(string(maps), "[usertrap]")
}

// changedIn answers the files of whose code a process has pages of its own, without those seen before. One that has ended has none.
func (s *search) changedIn(pid int) []file {
	smaps, err := os.Open("/proc/" + strconv.Itoa(pid) + "/smaps")
	if err != nil {
		return nil
	}
	defer smaps.Close()
	return s.changed(smaps)
}

// changed reads a table of mappings (proc_pid_smaps(5)) until the time is over: a line that begins with a range of addresses, then lines of `Name: N kB`.
func (s *search) changed(smaps io.Reader) (files []file) {
	var code *file
	lines := bufio.NewScanner(smaps)
	lines.Buffer(make([]byte, bufferBytes), bufferBytes)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		switch {
		case !strings.HasSuffix(name, ":"):
			if s.isOver() {
				return files
			}
			code = codeOf(rest)
		case name == "Anonymous:" && code != nil && !s.seen[*code]:
			if size, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil && size > 0 {
				s.seen[*code] = true
				files = append(files, *code)
			}
		}
	}
	return files
}

// codeOf reads rights, offset, device, inode and path, and answers null for what is not the code of a file.
func codeOf(line string) *file {
	fields := strings.Fields(line)
	if len(fields) < 5 || !strings.Contains(fields[0], "x") {
		return nil
	}
	inode, err := strconv.ParseUint(fields[3], 10, 64)
	begin := strings.IndexByte(line, '/')
	if err != nil || inode == 0 || begin < 0 {
		return nil
	}
	return &file{line[begin:], inode}
}
