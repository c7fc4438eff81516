package watch

import (
	"golang.org/x/sys/unix"
)

// node is a watched directory.
type node struct {
	wd       int32
	parent   *node
	name     string
	children map[string]*node
	dev, ino uint64
	told     map[string]struct{} // reported by a listing; their events may still arrive
}

// path returns the directory's path below the root: empty, or beginning with a slash.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	return n.parent.path() + "/" + n.name
}

func (n *node) seen(name string) {
	if n.told == nil {
		n.told = map[string]struct{}{}
	}
	n.told[name] = struct{}{}
}

// wasSeen returns true if a listing has reported a name, and forgets it.
func (n *node) wasSeen(name string) bool {
	_, ok := n.told[name]
	delete(n.told, name)
	return ok
}

// tree holds the watched directories, by their watches and by their places.
type tree struct {
	nodes map[int32]*node
	root  *node
}

// put adds a watched directory. For a directory that is watched already, the kernel returns the
// same watch, and put moves it to its new place.
func (t *tree) put(wd int32, parent *node, name string, st *unix.Stat_t) (n *node, fresh bool) {
	if t.nodes == nil {
		t.nodes = map[int32]*node{}
	}
	if n = t.nodes[wd]; n == nil {
		n, fresh = &node{wd: wd, dev: st.Dev, ino: st.Ino}, true
		t.nodes[wd] = n
	}
	if parent == nil {
		t.root = n
		return n, fresh
	}
	if n != t.root {
		t.place(n, parent, name)
	}
	return n, fresh
}

// place makes a directory a child of another, and replaces an earlier child.
func (t *tree) place(n, parent *node, name string) {
	for up := parent; up != nil; up = up.parent { // the kernel prevents this as well
		if up == n {
			return
		}
	}
	if n.parent != nil && n.parent.children[n.name] == n {
		delete(n.parent.children, n.name)
	}
	if parent.children == nil {
		parent.children = map[string]*node{}
	}
	parent.children[name] = n
	n.parent, n.name = parent, name
}

// remove removes a directory with its descendants, and returns their watches.
func (t *tree) remove(n *node) (watches []int32) {
	if n.parent != nil && n.parent.children[n.name] == n {
		delete(n.parent.children, n.name)
	}
	pending := []*node{n}
	for len(pending) > 0 {
		last := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if t.nodes[last.wd] == last {
			delete(t.nodes, last.wd)
			watches = append(watches, last.wd)
		}
		for _, child := range last.children {
			pending = append(pending, child)
		}
	}
	return watches
}

// clear removes all directories, and returns their number.
func (t *tree) clear() int {
	n := len(t.nodes)
	t.nodes, t.root = nil, nil
	return n
}

// forgetSeen forgets the names from listings. All events from before the listings have been
// handled.
func (t *tree) forgetSeen() {
	for _, n := range t.nodes {
		n.told = nil
	}
}
