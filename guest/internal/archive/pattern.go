package archive

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// Selection names the parts of the runtime's tree to copy, as COPY does.
type Selection struct {
	Sources []string `json:"sources"` // patterns of paths from the root
	Exclude []string `json:"exclude"` // patterns of names inside the copied trees
	Parents bool     `json:"parents"` // names keep the whole path
}

const (
	maxPatterns = 1000
	// maxVisited limits the names that patterns look at, and maxPicked the paths that they match.
	maxVisited = 2_000_000
	maxPicked  = 100_000
)

// Find returns the paths that the patterns match, in the order of the patterns, and sorted by name
// within a pattern. Symlinks in a path are followed, including the last part. A pattern without a
// match is an error that names it.
func (s *Selection) Find() ([]Picked, error) {
	if len(s.Sources) == 0 || len(s.Sources) > maxPatterns || len(s.Exclude) > maxPatterns {
		return nil, fault.New(fault.InvalidRequest, "sources must have 1 to %d patterns, and exclude at most as many", maxPatterns)
	}
	f := &finder{}
	var picked []Picked
	for _, pattern := range s.Sources {
		if strings.IndexByte(pattern, 0) >= 0 {
			return nil, fault.New(fault.InvalidPath, "sources: a pattern holds a NUL byte")
		}
		found, err := f.match(pattern)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fault.New(fault.PathNotFound, "%s: no such file or directory", pattern)
		}
		for _, name := range found {
			each, err := s.pick(name)
			if err != nil {
				return nil, err
			}
			picked = append(picked, each)
		}
		if len(picked) > maxPicked {
			return nil, fault.New(fault.TooLarge, "the patterns match more than %d paths", maxPicked)
		}
	}
	return picked, nil
}

func (s *Selection) pick(name string) (Picked, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return Picked{}, fault.New(fault.PathNotFound, "%s: a symlink whose target does not exist", name)
	}
	var st unix.Stat_t
	if err := unix.Stat(real, &st); err != nil {
		return Picked{}, fault.AtPath(name, err)
	}
	each := Picked{Path: real, Directory: st.Mode&unix.S_IFMT == unix.S_IFDIR, As: path.Base(name)}
	if s.Parents {
		each.As = strings.TrimPrefix(name, "/")
	}
	if each.Directory && s.Parents && each.As != "" {
		each.As += "/"
	} else if each.Directory {
		each.As = ""
	}
	return each, nil
}

// finder matches patterns: those of Go's path.Match, part by part, and `**` for any number of
// directories.
type finder struct{ visited int }

func (f *finder) match(pattern string) ([]string, error) {
	clean := path.Clean("/" + pattern)
	if _, err := path.Match(clean, ""); err != nil {
		return nil, fault.New(fault.InvalidRequest, "%s: not a pattern: %s", pattern, err)
	}
	if clean == "/" {
		return []string{"/"}, nil
	}
	found, err := f.below("/", strings.Split(clean[1:], "/"))
	slices.Sort(found)
	return slices.Compact(found), err
}

func (f *finder) below(dir string, parts []string) ([]string, error) {
	part, rest := parts[0], parts[1:]
	if !strings.ContainsAny(part, `*?[\`) {
		name := path.Join(dir, part)
		if _, err := os.Lstat(name); err != nil {
			return nil, nil // the name does not exist, or a part of the path is not a directory
		}
		return f.onward(name, rest)
	}
	names, err := f.names(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	if part == "**" && len(rest) > 0 {
		if found, err = f.below(dir, rest); err != nil {
			return nil, err
		}
	}
	for _, base := range names {
		name := path.Join(dir, base)
		var more []string
		switch matches, _ := path.Match(part, base); {
		case part == "**" && isRealDir(name):
			more, err = f.below(name, parts)
			if len(rest) == 0 {
				more = append(more, name)
			}
		case part == "**" && len(rest) == 0:
			more = []string{name}
		case part != "**" && matches:
			more, err = f.onward(name, rest)
		}
		if err != nil {
			return nil, err
		}
		if found = append(found, more...); len(found) > maxPicked {
			return nil, fault.New(fault.TooLarge, "a pattern matches more than %d paths", maxPicked)
		}
	}
	return found, nil
}

func (f *finder) onward(name string, rest []string) ([]string, error) {
	if len(rest) == 0 {
		return []string{name}, nil
	}
	return f.below(name, rest)
}

func (f *finder) names(dir string) ([]string, error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil // not a directory
	}
	defer file.Close()
	names, err := file.Readdirnames(maxVisited)
	if f.visited += len(names); f.visited >= maxVisited {
		return nil, fault.New(fault.TooLarge, "the patterns look at more than %d names", maxVisited)
	}
	if err != nil && len(names) > 0 {
		return nil, fault.AtPath(dir, err)
	}
	return names, nil
}

func isRealDir(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.IsDir()
}

// Excluder returns a function that reports whether the patterns exclude a name. A pattern excludes
// the names that it matches and their descendants. Patterns are relative to the beginning of the
// copy, also without a slash; `**/` is any depth.
func (s *Selection) Excluder() (func(name string) bool, error) {
	var patterns [][]string
	for _, pattern := range s.Exclude {
		clean := strings.TrimPrefix(path.Clean("/"+pattern), "/")
		if _, err := path.Match(clean, ""); err != nil || strings.HasPrefix(pattern, "!") {
			return nil, fault.New(fault.InvalidRequest, "exclude: %q is not a valid pattern", pattern)
		}
		patterns = append(patterns, strings.Split(clean, "/"))
	}
	if len(patterns) == 0 {
		return nil, nil
	}
	return func(name string) bool {
		parts := strings.Split(strings.Trim(name, "/"), "/")
		return slices.ContainsFunc(patterns, func(pattern []string) bool { return matchesParts(pattern, parts) })
	}, nil
}

// matchesParts matches part by part, in time proportional to the product of the lengths. reached
// holds the positions of the pattern that the parts so far lead to.
func matchesParts(pattern, parts []string) bool {
	reached := make([]bool, len(pattern)+1)
	reached[0] = true
	for at := 0; ; at++ {
		// `**` matches zero parts, except at the end: `a/**` matches the content of a.
		for i, p := range pattern[:max(0, len(pattern)-1)] {
			reached[i+1] = reached[i+1] || reached[i] && p == "**"
		}
		if reached[len(pattern)] {
			return true // descendants of a match are excluded as well
		}
		if at == len(parts) {
			return false
		}
		next := make([]bool, len(pattern)+1)
		for i, p := range pattern {
			if !reached[i] {
				continue
			}
			if p == "**" {
				next[i], next[i+1] = true, true
			} else if ok, _ := path.Match(p, parts[at]); ok {
				next[i+1] = true
			}
		}
		reached = next
	}
}
