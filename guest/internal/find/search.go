package find

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/names"
)

const (
	// MaxResults limits the matches of one search.
	MaxResults = 10_000
	maxTimeout = 10 * time.Minute
	// maxRunning limits the concurrent searches; others wait. Each has a block of lines in memory.
	maxRunning = 4
	// batchFiles and batchNameBytes limit the files that are searched together.
	batchFiles     = 512
	batchNameBytes = 64 << 10
	// maxItemBytes limits the output of one search, names and lines together.
	maxItemBytes = 8 << 20
)

var running = make(chan struct{}, maxRunning)

// Request is a search, as the host describes it.
type Request struct {
	Path       string   `json:"path"`
	Globs      []string `json:"globs"`
	Type       *string  `json:"type"`
	Content    *Content `json:"content"`
	Hidden     bool     `json:"hidden"`
	Gitignore  bool     `json:"respect_gitignore"`
	MaxDepth   int      `json:"max_depth"`
	MaxResults int      `json:"max_results"`
	TimeoutMs  int64    `json:"timeout_ms"`
}

// Match is a line, or a name if the request has no content.
type Match struct {
	Type       string  `json:"type"` // "match"
	Cursor     int     `json:"cursor"`
	Path       string  `json:"path"`
	PathBase64 string  `json:"path_base64,omitempty"`
	Kind       string  `json:"kind"`
	Line       *int    `json:"line"`
	Column     *int    `json:"column"`
	Length     *int    `json:"length"`
	Text       *string `json:"text"`
	Truncated  bool    `json:"text_truncated"`
}

// End is the last item. Truncated is nil if the search is complete, and otherwise "max_results",
// "max_bytes" or "timeout".
type End struct {
	Type          string  `json:"type"` // "end"
	Cursor        int     `json:"cursor"`
	Truncated     *string `json:"truncated"`
	FilesSearched int     `json:"files_searched"`
	FilesSkipped  int     `json:"files_skipped"` // binary or unreadable
}

// Search is a validated request whose top directory is open.
type Search struct {
	tree    Tree
	kind    uint32 // of unix.S_IFMT; 0: any
	matcher *Matcher
	ripgrep *Ripgrep
	limit   int
	timeout time.Duration
	top     int
	only    *Entry

	emit    func(Match) error
	batch   []Entry
	bytes   int
	cursor  int
	told    int
	end     End
	release func()
}

var kinds = map[string]uint32{
	"file": unix.S_IFREG, "directory": unix.S_IFDIR, "symlink": unix.S_IFLNK, "fifo": unix.S_IFIFO, "socket": unix.S_IFSOCK,
}

func kindOf(mode uint32) string {
	for name, kind := range kinds {
		if kind == mode {
			return name
		}
	}
	return "device"
}

// Prepare validates a request and opens its top. The caller must run the search.
func (r *Request) Prepare(ctx context.Context, ripgrep *Ripgrep) (*Search, error) {
	if r.MaxResults < 1 || r.MaxResults > MaxResults || r.MaxDepth < 1 || r.MaxDepth > MaxDepth ||
		r.TimeoutMs < 1 || r.TimeoutMs > maxTimeout.Milliseconds() {
		return nil, fault.New(fault.InvalidRequest, "max_results must be 1 to %d, max_depth 1 to %d, and timeout_ms 1 to %d",
			MaxResults, MaxDepth, maxTimeout.Milliseconds())
	}
	globs, err := ParseGlobs(r.Globs)
	if err != nil {
		return nil, err
	}
	s := &Search{
		tree:    Tree{Path: r.Path, Globs: globs, Hidden: r.Hidden, Gitignore: r.Gitignore, MaxDepth: r.MaxDepth},
		ripgrep: ripgrep, limit: r.MaxResults, timeout: time.Duration(r.TimeoutMs) * time.Millisecond,
	}
	if r.Type != nil {
		kind, ok := kinds[*r.Type]
		if !ok || r.Content != nil && kind != unix.S_IFREG {
			return nil, fault.New(fault.InvalidRequest, "type %q cannot be searched for", *r.Type)
		}
		s.kind = kind
	}
	if r.Content != nil {
		if s.matcher, err = r.Content.Compile(); err != nil {
			return nil, err
		}
	}
	return s, s.open(ctx)
}

// open waits until a search may run, and opens the top.
func (s *Search) open(ctx context.Context) (err error) {
	select {
	case running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.release = func() { <-running }
	s.top, s.only, err = s.tree.Open()
	switch {
	case err != nil:
	case s.only != nil && s.matcher == nil:
		err = fault.New(fault.NotADirectory, "%s: is not a directory", s.tree.Path)
	case s.only != nil && s.only.Mode != unix.S_IFREG:
		err = fault.New(fault.NotAFile, "%s: is a %s", s.tree.Path, kindOf(s.only.Mode))
	}
	if err != nil {
		s.release()
	}
	return err
}

// errEnough ends a walk at the limit of results.
var errEnough = errors.New("enough")

// Run emits each match and returns the end item. A timeout or a limit is not an error.
func (s *Search) Run(ctx context.Context, emit func(Match) error) (*End, error) {
	defer s.release()
	s.emit = emit
	s.end.Type = "end"
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var err error
	if s.only != nil {
		err = s.lookInto(limited, []Entry{*s.only}, nil)
	} else {
		err = s.walk(limited)
	}
	switch {
	case err == nil, errors.Is(err, errEnough):
	case ctx.Err() == nil && limited.Err() != nil:
		s.truncate("timeout")
	default:
		return nil, fault.AtPath(s.tree.Path, err)
	}
	s.end.Cursor = s.cursor
	return &s.end, nil
}

func (s *Search) truncate(why string) { s.end.Truncated = &why }

func (s *Search) walk(ctx context.Context) error {
	below, err := fdtree.NewBelow(s.top)
	if err != nil {
		_ = unix.Close(s.top)
		return err
	}
	defer below.Close()
	err = s.tree.Walk(ctx, s.top, func(e Entry) error {
		if s.kind != 0 && e.Mode != s.kind {
			return nil
		}
		if s.matcher == nil {
			return s.tell(Match{Path: e.Path, Kind: kindOf(e.Mode)})
		}
		if e.Mode != unix.S_IFREG {
			return nil
		}
		s.batch = append(s.batch, e)
		s.bytes += len(e.Path)
		if len(s.batch) < batchFiles && s.bytes < batchNameBytes {
			return nil
		}
		return s.flush(ctx, below)
	})
	if err != nil {
		return err
	}
	return s.flush(ctx, below)
}

// flush searches the files of the batch.
func (s *Search) flush(ctx context.Context, below *fdtree.Below) error {
	batch := s.batch
	s.batch, s.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	left := s.ripgrep.narrow(ctx, s, batch)
	s.end.FilesSearched += len(batch) - len(left)
	return s.lookInto(ctx, left, below)
}

func (s *Search) lookInto(ctx context.Context, files []Entry, below *fdtree.Below) error {
	for _, e := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		found, err := s.matchesIn(ctx, e, below)
		switch {
		case errors.Is(err, errBinary), isUnreadable(err):
			s.end.FilesSkipped++
			continue
		case err != nil && !errors.Is(err, errEnough):
			return err
		}
		s.end.FilesSearched++
		for _, m := range found {
			if err := s.tell(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// isUnreadable returns true if a file could not be opened or read, for example because it was
// removed.
func isUnreadable(err error) bool {
	var errno unix.Errno
	return errors.As(err, &errno)
}

// matchesIn searches one file. It holds the matches until the end, because the file may be binary.
func (s *Search) matchesIn(ctx context.Context, e Entry, below *fdtree.Below) ([]Match, error) {
	fd, err := -1, error(nil)
	if s.only != nil {
		fd, err = unix.Open(s.tree.Path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	} else {
		fd, err = below.OpenFile(e.Path)
	}
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), e.Path)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG { // replaced since the walk
		return nil, unix.ENXIO
	}
	var found []Match
	err = s.matcher.scan(reader{ctx, file}, func(l Line) error {
		text := names.Text(string(l.Text))
		found = append(found, Match{
			Path: e.Path, Kind: "file", Line: &l.Number, Column: &l.Column, Length: &l.Length, Text: &text, Truncated: l.Truncated,
		})
		if len(found)+s.cursor > s.limit {
			return errEnough
		}
		return nil
	})
	return found, err
}

// reader reads a file until the context ends.
type reader struct {
	ctx  context.Context
	file *os.File
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.file.Read(b)
	var problem *os.PathError
	if errors.As(err, &problem) {
		return n, problem.Err
	}
	return n, err
}

// tell completes a match and emits it, or ends the search at a limit.
func (s *Search) tell(m Match) error {
	if s.cursor >= s.limit {
		s.truncate("max_results")
		return errEnough
	}
	path := s.tree.Path
	if m.Path != "" {
		path = trimRoot(path) + "/" + m.Path
	}
	m.Type, m.Path, m.PathBase64 = "match", names.Text(path), names.Base64(path)
	s.told += len(m.Path) + len(m.PathBase64)
	if m.Text != nil {
		s.told += len(*m.Text)
	}
	if s.told > maxItemBytes {
		s.truncate("max_bytes")
		return errEnough
	}
	s.cursor++
	m.Cursor = s.cursor
	return s.emit(m)
}

func trimRoot(path string) string {
	if path == "/" {
		return ""
	}
	return path
}
