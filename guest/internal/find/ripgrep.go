package find

import (
	"context"
	"strings"

	"holt.dev/guest/internal/supervise"
)

const (
	// worthFiles and worthBytes are from when on starting ripgrep costs less than it saves.
	worthFiles = 32
	worthBytes = 2 << 20
)

// places is where ripgrep is looked for: nowhere that only root of the runtime can write to is left
// out, nothing else is in.
var places = []string{"/usr/local/bin/rg", "/usr/bin/rg", "/bin/rg"}

// Ripgrep tells in which files nothing is to be found, where the runtime has it. It is a program of
// the runtime's, so its word only ever leaves files out, it is waited for no longer than the search
// lasts, and where it fails in any way nothing is left out.
type Ripgrep struct {
	pool *supervise.Pool
}

// NewRipgrep runs ripgrep in supervisors of a pool.
func NewRipgrep(pool *supervise.Pool) *Ripgrep { return &Ripgrep{pool: pool} }

// program finds a ripgrep that root alone can have put there; "" where there is none.
func (*Ripgrep) program() string {
	return supervise.RootsProgram(places)
}

// arguments are those of a search that can leave a file out only where no line of it matches; false
// where there is no such.
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

// narrow answers those of a batch in which there may be matches: all of them where ripgrep cannot
// be asked.
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
	limit := 1 // of the answer: each name at most once
	for _, e := range batch {
		arguments = append(arguments, "./"+e.Path)
		limit += len(e.Path) + len("./\x00")
	}
	start := &supervise.Start{
		Path: program, Argv: arguments, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Dir: s.tree.Path, Umask: 0o077,
	}
	out, status, err := g.pool.Output(ctx, start, limit)
	if err != nil || !status.Exited() || status.ExitStatus() > 1 { // 0 is for matches and 1 for none
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
