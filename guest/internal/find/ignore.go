package find

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

const (
	// maxIgnoreBytes and maxIgnoreRules limit one .gitignore.
	maxIgnoreBytes = 1 << 20
	maxIgnoreRules = 10_000
)

// ignoreList holds the rules of one .gitignore (gitignore(5)), which apply below its directory.
type ignoreList struct {
	prefix string // the path of this directory relative to the top: "" or "a/b/"
	above  string // for a list above the top, the path from its directory to the top: "" or "a/b/"
	rules  []rule
}

// parseIgnore parses the lines of a .gitignore. It skips malformed lines, as git does.
func parseIgnore(text string) []rule {
	var rules []rule
	for line := range strings.Lines(text) {
		line = trimLine(line)
		if line == "" || line[0] == '#' || strings.IndexByte(line, 0) >= 0 {
			continue
		}
		if r, ok := parseRule(line, false); ok && len(rules) < maxIgnoreRules {
			rules = append(rules, r)
		}
	}
	return rules
}

// trimLine removes the end of a line, and the spaces before it that are not escaped.
func trimLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// verdict returns the list's decision about a path relative to the top. known is true if a rule
// matches.
func (l *ignoreList) verdict(path string, isDir bool) (known, ignored bool) {
	own := path
	if l.above != "" {
		own = l.above + path
	} else {
		own = strings.TrimPrefix(path, l.prefix)
	}
	for i := len(l.rules) - 1; i >= 0; i-- {
		if l.rules[i].matches(own, isDir) {
			return true, !l.rules[i].negated
		}
	}
	return false, false
}

// isIgnored asks the lists from the innermost outwards.
func isIgnored(lists []*ignoreList, path string, isDir bool) bool {
	for i := len(lists) - 1; i >= 0; i-- {
		if known, ignored := lists[i].verdict(path, isDir); known {
			return ignored
		}
	}
	return false
}

// readIgnore reads the .gitignore in an open directory. If it is missing or not a regular file,
// there are no rules.
func readIgnore(dir int) []rule {
	fd, err := fdtree.OpenFile(dir, ".gitignore")
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), ".gitignore")
	defer file.Close()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(file, maxIgnoreBytes))
	if err != nil {
		return nil
	}
	return parseIgnore(string(b))
}

// ignoresAbove reads the lists of the directories above an open one, up to the root of its git
// repository, outermost first. Outside of a repository there are none.
func ignoresAbove(top int) []*ignoreList {
	var lists []*ignoreList
	at, err := unix.FcntlInt(uintptr(top), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(at) }() // nothing was written through it
	above := ""
	for !isRepository(at) {
		name, parent, err := nameInParent(at)
		if err != nil || parent < 0 {
			return nil
		}
		_ = unix.Close(at)
		at, above = parent, name+"/"+above
		if rules := readIgnore(at); rules != nil {
			lists = append([]*ignoreList{{above: above, rules: rules}}, lists...)
		}
	}
	return lists
}

func isRepository(dir int) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, ".git", &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// nameInParent returns an open directory's name and its open parent. For the root the parent is -1.
func nameInParent(dir int) (name string, parent int, err error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+itoa(dir), b)
	if err != nil {
		return "", -1, err
	}
	path := string(b[:n])
	if path == "/" {
		return "", -1, nil
	}
	parent, err = fdtree.OpenDir(dir, "..")
	return path[strings.LastIndexByte(path, '/')+1:], parent, err
}
