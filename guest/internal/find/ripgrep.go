package find

import (
	"context"
	"strings"

	"holt.dev/guest/internal/supervise"
)

const (
	// worthFiles and worthBytes are the sizes from which ripgrep saves more time than its start
	// costs.
	worthFiles = 32
	worthBytes = 2 << 20
)

// places are the paths of ripgrep. Other programs of the runtime are not used.
var places = []string{"/usr/local/bin/rg", "/usr/bin/rg", "/bin/rg"}

// Ripgrep rules out files without matches, if the runtime has ripgrep. It is a program of the
// runtime and not trusted: its output can only leave out files. It is killed at the end of the
// search, and if it fails, no file is left out.
type Ripgrep struct {
	pool *supervise.Pool
}

// NewRipgrep returns a Ripgrep that runs in supervisors of a pool.
func NewRipgrep(pool *supervise.Pool) *Ripgrep { return &Ripgrep{pool: pool} }

// program returns the path of a ripgrep that only root can have installed, or "".
func (*Ripgrep) program() string {
	return supervise.RootsProgram(places)
}

// arguments returns the arguments of a search that leaves out only files without a matching line.
// It returns false if there are none.
func (m *Matcher) arguments() ([]string, bool) {
	arguments := []string{
		"rg", "--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null", "--no-ignore", "--hidden",
		"--text", "--encoding=none", "--no-mmap", "--threads=2",
	}
	if m.literal != nil {
		return append(arguments, "--fixed-strings", "--case-sensitive", "-e", string(m.literal), "--"), true
	}
	expression, ok := rustExpression(m.tree)
	return append(arguments, "--case-sensitive", "-e", expression, "--"), ok
}

// narrow returns the files of a batch that may have matches. It returns all if ripgrep cannot be
// used.
func (g *Ripgrep) narrow(ctx context.Context, s *Search, batch []Entry) []Entry {
	size := int64(0)
	for _, e := range batch {
		size += e.Size
	}
	program := g.program()
	arguments, sound := s.matcher.arguments()
	if program == "" || !sound || len(batch) < worthFiles && size < worthBytes {
		return batch
	}
	// The limit of the output. It contains each name at most once.
	limit := 1
	for _, e := range batch {
		arguments = append(arguments, "./"+e.Path)
		limit += len(e.Path) + len("./\x00")
	}
	start := &supervise.Start{
		Path: program, Argv: arguments, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Dir: s.tree.Path, Umask: 0o077,
	}
	out, status, err := g.pool.Output(ctx, start, limit)
	// The exit code is 0 for matches and 1 for none.
	if err != nil || !status.Exited() || status.ExitStatus() > 1 {
		return batch
	}
	named := map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		named[strings.TrimPrefix(name, "./")] = true
	}
	kept := batch[:0:0]
	for _, e := range batch {
		if named[e.Path] {
			kept = append(kept, e)
		}
	}
	return kept
}
