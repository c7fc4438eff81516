package watch

import "regexp"

// staged is a name that the guest gives to what is not finished yet, beside its destination: it is nothing that anybody in the
// runtime has made.
var staged = regexp.MustCompile(`(?:^|/)\.holt-(?:(?:put|archive|move|copy|replace|link|old)-[0-9a-f]{16}|upload-[A-Za-z0-9_-]{8,64})(?:/|$)`)

// add keeps a change as the runtime sees it: what is put in place has come, and what is put aside is gone.
func (w *Watcher) add(c change) {
	to, from := staged.MatchString(c.path), c.from != "" && staged.MatchString(c.from)
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
