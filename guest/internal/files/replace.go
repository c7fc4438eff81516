package files

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"slices"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/copytree"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/find"
	"holt.dev/guest/internal/names"
)

const (
	// maxReplaceBytes limits the size of a file before the replacement, and maxReplacedBytes after
	// it: both versions are in memory.
	maxReplaceBytes  = 16 << 20
	maxReplacedBytes = 32 << 20
	// maxMatches limits the matches of an expression in one file, because they are all in memory.
	maxMatches = 500_000
	// maxReplaceFiles limits the files of one request.
	maxReplaceFiles = 1000
	// maxReplacementBytes limits the length of the replacement text.
	maxReplacementBytes = 64 << 10
)

// replacing is held by the one running replacement, which has whole files in memory.
var replacing = make(chan struct{}, 1)

// Replacement describes a pattern to replace in named files, or in the files below a directory.
type Replacement struct {
	Paths         []string `json:"paths"`
	Path          *string  `json:"path"`
	Globs         []string `json:"globs"`
	Hidden        bool     `json:"hidden"`
	Gitignore     bool     `json:"respect_gitignore"`
	Pattern       string   `json:"pattern"`
	Replacement   string   `json:"replacement"`
	Regex         bool     `json:"regex"`
	CaseSensitive bool     `json:"case_sensitive"`
	ExpectedCount *int     `json:"expected_count"`
	DryRun        bool     `json:"dry_run"`
}

// Replaced is one file that has matches. Failure is set if the file was not changed.
type Replaced struct {
	Path       string   `json:"path"`
	PathBase64 string   `json:"path_base64,omitempty"`
	Count      int      `json:"count"`
	Failure    *Failure `json:"error"`
}

// Failure is an error inside a response.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Replacements is the result of a request.
type Replacements struct {
	Files []Replaced `json:"files"`
	Count int        `json:"total_count"`
}

// replacer is a validated replacement.
type replacer struct {
	pattern *regexp.Regexp
	literal []byte // the exact text; nil if pattern is used
	with    []byte
	expand  bool
}

// candidate is a file with matches, as it was when they were counted.
type candidate struct {
	path  string
	below string // the path relative to the searched directory; "" for a named file
	st    unix.Stat_t
	count int
}

// Replace replaces a pattern in files, each atomically. It reads all files before it changes one.
// If a named file is invalid, or if the count differs from the expected one, nothing is changed.
func Replace(ctx context.Context, request Replacement) (*Replacements, error) {
	r, err := request.compile()
	if err != nil {
		return nil, err
	}
	select {
	case replacing <- struct{}{}:
		defer func() { <-replacing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tree, err := request.open()
	if err != nil {
		return nil, err
	}
	defer tree.close()
	found, err := request.candidates(ctx, r, tree)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, c := range found {
		total += c.count
	}
	if request.ExpectedCount != nil && *request.ExpectedCount != total {
		return nil, fault.New(fault.Conflict, "the pattern occurs %d times in %d files, not %d times: nothing was changed",
			total, len(found), *request.ExpectedCount)
	}
	result := &Replacements{Files: []Replaced{}, Count: total}
	for _, c := range found {
		one := Replaced{Path: names.Text(c.path), PathBase64: names.Base64(c.path), Count: c.count}
		if !request.DryRun {
			if err := r.rewrite(ctx, c, tree); err != nil {
				if len(found) == 1 {
					return nil, err
				}
				f := fault.As(err)
				one.Failure = &Failure{f.Code, f.Message}
				result.Count -= c.count
			}
		}
		result.Files = append(result.Files, one)
	}
	return result, nil
}

func (r *Replacement) compile() (*replacer, error) {
	if (r.Path == nil) == (len(r.Paths) == 0) || len(r.Paths) > maxReplaceFiles {
		return nil, fault.New(fault.InvalidRequest, "give exactly one of path and paths, and at most %d paths", maxReplaceFiles)
	}
	if len(r.Replacement) > maxReplacementBytes {
		return nil, fault.New(fault.TooLarge, "replacement must be at most %d bytes", maxReplacementBytes)
	}
	content := find.Content{Pattern: r.Pattern, Regex: r.Regex, CaseSensitive: r.CaseSensitive}
	if !r.Regex && r.CaseSensitive && len(r.Pattern) <= maxReplacementBytes && r.Pattern != "" {
		return &replacer{literal: []byte(r.Pattern), with: []byte(r.Replacement)}, nil
	}
	expression, err := content.Expression()
	if err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile("(?m)" + expression)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "pattern: %s (the syntax is RE2's)", err)
	}
	return &replacer{pattern: pattern, with: []byte(r.Replacement), expand: r.Regex}, nil
}

// candidates reads every file and returns those with matches. A named file must be a text file.
// Other files below a directory are skipped.
func (r *Replacement) candidates(ctx context.Context, pattern *replacer, tree *searched) ([]candidate, error) {
	var found []candidate
	look := func(path, below string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := pattern.look(path, below, tree)
		if err != nil {
			if below == "" || ctx.Err() != nil {
				return err
			}
			return nil
		}
		if c.count == 0 {
			return nil
		}
		if len(found) == maxReplaceFiles {
			return fault.New(fault.TooLarge, "the pattern occurs in more than %d files: nothing was changed", maxReplaceFiles)
		}
		found = append(found, *c)
		return nil
	}
	for i, path := range r.Paths {
		if slices.Index(r.Paths, path) < i {
			return nil, fault.New(fault.InvalidRequest, "%s: is named twice", path)
		}
		if err := look(path, ""); err != nil {
			return nil, err
		}
	}
	if r.Path != nil {
		if err := r.walk(ctx, tree, look); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// look counts the matches in one file, which must be a text file of limited size.
func (r *replacer) look(path, below string, s *searched) (*candidate, error) {
	file, st, err := s.openText(path, below)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := readText(file, st, path)
	if err != nil {
		return nil, err
	}
	count := r.count(content)
	if r.literal == nil && count > maxMatches {
		return nil, fault.New(fault.TooLarge, "%s: has more than %d matches", path, maxMatches)
	}
	return &candidate{path: path, below: below, st: *st, count: count}, nil
}

func readText(file *os.File, st *unix.Stat_t, path string) ([]byte, error) {
	if st.Size > maxReplaceBytes {
		return nil, fault.New(fault.TooLarge, "%s: has more than %d bytes", path, maxReplaceBytes)
	}
	content := make([]byte, 0, st.Size+1)
	buffer := bytes.NewBuffer(content)
	if _, err := io.Copy(buffer, io.LimitReader(file, maxReplaceBytes+1)); err != nil {
		return nil, fault.AtPath(path, err)
	}
	if buffer.Len() > maxReplaceBytes {
		return nil, fault.New(fault.TooLarge, "%s: has more than %d bytes", path, maxReplaceBytes)
	}
	if bytes.IndexByte(buffer.Bytes(), 0) >= 0 {
		return nil, fault.New(fault.NotAFile, "%s: is a binary file: it holds NUL bytes", path)
	}
	return buffer.Bytes(), nil
}

func (r *replacer) count(content []byte) int {
	if r.literal != nil {
		return bytes.Count(content, r.literal)
	}
	return len(r.pattern.FindAllIndex(content, maxMatches+1))
}

// apply returns the content with the matches replaced.
func (r *replacer) apply(content []byte, path string) ([]byte, error) {
	var out []byte
	last := 0
	add := func(from, to int, with []byte) bool {
		out = append(append(out, content[last:from]...), with...)
		last = to
		return len(out) <= maxReplacedBytes
	}
	fits := true
	if r.literal != nil {
		for at := bytes.Index(content, r.literal); at >= 0 && fits; at = bytes.Index(content[last:], r.literal) {
			fits = add(last+at, last+at+len(r.literal), r.with)
		}
	} else {
		for _, match := range r.pattern.FindAllSubmatchIndex(content, maxMatches) {
			with := r.with
			if r.expand {
				with = r.pattern.Expand(nil, r.with, content, match)
			}
			if fits = add(match[0], match[1], with); !fits {
				break
			}
		}
	}
	if !fits || len(out)+len(content)-last > maxReplacedBytes {
		return nil, fault.New(fault.TooLarge, "%s: would have more than %d bytes", path, maxReplacedBytes)
	}
	return append(out, content[last:]...), nil
}

// rewrite replaces the matches in a file that has not changed since they were counted.
func (r *replacer) rewrite(ctx context.Context, c candidate, s *searched) error {
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Conflict, "%s: the replacement was cancelled before it", c.path)
	}
	dir, base, done, err := s.placeOf(c)
	if err != nil {
		return err
	}
	defer done()
	fd, err := fdtree.OpenFile(dir, base)
	if err != nil {
		return fault.AtPath(c.path, err)
	}
	file := os.NewFile(uintptr(fd), c.path)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fault.AtPath(c.path, err)
	}
	if !sameFile(&st, &c.st) || st.Size != c.st.Size || st.Mtim != c.st.Mtim {
		return fault.New(fault.Conflict, "%s: the file changed during the replacement", c.path)
	}
	content, err := readText(file, &st, c.path)
	if err != nil {
		return err
	}
	replaced, err := r.apply(content, c.path)
	if err != nil {
		return err
	}
	return fault.AtPath(c.path, putBeside(dir, base, fd, &st, replaced))
}

// putBeside writes content to a new file with the attributes of the old one except the times, and
// replaces the old file by it.
func putBeside(dir int, base string, old int, st *unix.Stat_t, content []byte) error {
	s := stage(dir, "replace")
	defer s.close()
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(s.dir, s.name, flags, 0o600)
	if err != nil {
		return err
	}
	err = writeAll(fd, content)
	if err == nil {
		err = dressFile(fd, st.Mode&0o7777, owner{int(st.Uid), int(st.Gid)})
	}
	if err == nil {
		err = copytree.CopyAttributes(old, fd)
	}
	if closing := unix.Close(fd); err == nil {
		err = closing
	}
	if err == nil {
		err = s.put(base, true)
	}
	if err != nil {
		// After a failed rename the file still has its temporary name, which is unique.
		_ = unix.Unlinkat(s.dir, s.name, 0)
	}
	return err
}
