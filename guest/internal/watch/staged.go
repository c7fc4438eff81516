package watch

import (
	"regexp"
	"sync"
)

// staged matches the guest's names for unfinished files in the directory of their destination.
// Programs of the runtime do not make such files. The expression is compiled for the first watcher.
var staged = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|/)\.holt-(?:(?:put|archive|move|copy|replace|link|old)-[0-9a-f]{16}|upload-[A-Za-z0-9_-]{8,64})(?:/|$)`)
})

// add adds a change as programs see it: a file that is moved into place is created, and a file that
// is moved aside is removed.
func (w *Watcher) add(c change) {
	to, from := staged().MatchString(c.path), c.from != "" && staged().MatchString(c.from)
	switch {
	case c.kind != Moved && to, to && from:
		return
	case to:
		c = change{kind: Removed, path: c.from, directory: c.directory}
	case from:
		c = change{kind: Created, path: c.path, directory: c.directory}
	}
	w.history.add(c)
}
