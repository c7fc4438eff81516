package watch

import (
	"errors"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// errStale is returned if the tree differs from the known one. Later events report the difference.
var errStale = errors.New("the tree changed")

// handleAll handles a batch of events. An error ends the watch.
func (w *Watcher) handleAll(events []event) error {
	for i := range events {
		e := &events[i]
		err := w.handle(e, events[i+1:])
		switch {
		case err == nil:
		case errors.Is(err, errStale):
			return w.lost() // the remaining events are covered by the new watch
		case err == errTooMany || err == unix.ENOSPC:
			w.add(change{kind: Overflow})
			w.add(change{kind: End, reason: "too_many_directories"})
			return err
		default:
			return w.lost()
		}
		if w.hasEnded() {
			return nil
		}
	}
	return nil
}

// lost watches the whole tree again and then adds an overflow item. A reader that lists the tree
// after it misses nothing.
func (w *Watcher) lost() error {
	root, err := w.openRoot()
	if err != nil {
		w.gone()
		return nil
	}
	err = w.watchAll(root)
	w.add(change{kind: Overflow})
	if err == errTooMany || err == unix.ENOSPC {
		w.add(change{kind: End, reason: "too_many_directories"})
	}
	return err
}

// gone reports that the directory is no longer at its path.
func (w *Watcher) gone() {
	w.add(change{kind: Removed, path: w.rootPath(), directory: true})
	w.add(change{kind: End, reason: "removed"})
}

func (w *Watcher) rootPath() string {
	if w.path == "" {
		return "/"
	}
	return w.path
}

// handle handles one event. rest are the events after it.
func (w *Watcher) handle(e *event, rest []event) error {
	if e.mask&unix.IN_Q_OVERFLOW != 0 {
		return errStale
	}
	n := w.tree.nodes[e.wd]
	if n == nil || e.mask == 0 { // of a removed watch, or the second half of a move
		return nil
	}
	isRoot := n == w.tree.root
	if isRoot && e.mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_UNMOUNT|unix.IN_IGNORED) != 0 {
		w.gone()
		return nil
	}
	if e.mask&unix.IN_IGNORED != 0 {
		w.forget(n, false)
		return nil
	}
	directory := e.mask&unix.IN_ISDIR != 0
	if e.name == "" { // about the directory itself; its parent has the same event
		if isRoot && e.mask&unix.IN_ATTRIB != 0 {
			w.add(change{kind: Attributes, path: w.rootPath(), directory: true})
		}
		return nil
	}
	path := w.path + n.path() + "/" + e.name
	switch {
	case e.mask&unix.IN_MODIFY != 0:
		w.add(change{kind: Modified, path: path, directory: directory})
	case e.mask&unix.IN_ATTRIB != 0:
		w.add(change{kind: Attributes, path: path, directory: directory})
	case e.mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		return w.appeared(n, e, path, directory)
	case e.mask&unix.IN_MOVED_FROM != 0:
		return w.left(n, e, rest, path, directory)
	case e.mask&unix.IN_DELETE != 0:
		n.wasSeen(e.name)
		w.add(change{kind: Removed, path: path, directory: directory})
		w.forgetChild(n, e.name)
	}
	return nil
}

// appeared reports a new entry and, for a directory, its content.
func (w *Watcher) appeared(n *node, e *event, path string, directory bool) error {
	if n.wasSeen(e.name) {
		return nil
	}
	w.add(change{kind: Created, path: path, directory: directory})
	// A staged directory is reported when it is moved into place.
	if !directory || !w.recursive || staged().MatchString(e.name) {
		return nil
	}
	return w.addChild(n, e.name, true)
}

// left reports a moved entry. If rest has the other half of the event, it was moved within the
// tree, and otherwise out of it.
func (w *Watcher) left(n *node, e *event, rest []event, path string, directory bool) error {
	n.wasSeen(e.name)
	other := secondHalf(rest, e.cookie)
	var to *node
	if other >= 0 {
		to = w.tree.nodes[rest[other].wd]
	}
	if to != nil && staged().MatchString(rest[other].name) { // moved aside for its removal
		rest[other].mask = 0
		to = nil
	}
	if to == nil {
		w.add(change{kind: Removed, path: path, directory: directory})
		w.forgetChild(n, e.name)
		return nil
	}
	name := rest[other].name
	rest[other].mask = 0
	to.wasSeen(name)
	w.add(change{kind: Moved, path: w.path + to.path() + "/" + name, from: path, directory: directory})
	if !directory || !w.recursive {
		return nil
	}
	child := n.children[e.name]
	if child == nil {
		return w.addChild(to, name, true)
	}
	if old := to.children[name]; old != nil && old != child {
		w.forget(old, true)
	}
	w.tree.place(child, to, name)
	return nil
}

// addChild watches a new directory. It opens the directory through its parents, each of which must
// be the known one.
func (w *Watcher) addChild(parent *node, name string, tell bool) error {
	at, err := w.reach(parent)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	fd, err := fdtree.OpenDir(at, name)
	if err == unix.ENOENT || err == unix.ENOTDIR { // removed again, which another event reports
		return nil
	}
	if err != nil {
		return err
	}
	return w.addOpen(fd, parent, name, tell)
}

// reach opens a directory of the tree.
func (w *Watcher) reach(n *node) (int, error) {
	if n.parent == nil {
		return w.openRoot()
	}
	at, err := w.reach(n.parent)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	fd, err := fdtree.OpenDir(at, n.name)
	if err != nil {
		return -1, errStale
	}
	return n.same(fd)
}

// openRoot opens the watched directory, if it is still the one at its path.
func (w *Watcher) openRoot() (int, error) {
	fd, err := w.open()
	if err != nil || w.tree.root == nil {
		return fd, err
	}
	return w.tree.root.same(fd)
}

func (w *Watcher) rootIsGone() bool {
	fd, err := w.openRoot()
	if err == nil {
		_ = unix.Close(fd)
	}
	return err != nil
}

// same returns an open directory if it is this one, and otherwise closes it.
func (n *node) same(fd int) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != n.dev || st.Ino != n.ino {
		_ = unix.Close(fd)
		return -1, errStale
	}
	return fd, nil
}

func (w *Watcher) forgetChild(n *node, name string) {
	if child := n.children[name]; child != nil {
		w.forget(child, true)
	}
}

// forget removes a directory and its descendants. unwatch is true if the kernel still watches them.
func (w *Watcher) forget(n *node, unwatch bool) {
	watches := w.tree.remove(n)
	w.budget.give(len(watches))
	if !unwatch {
		return
	}
	_ = w.control(func(fd int) {
		for _, wd := range watches {
			// The watch of a removed directory is gone as well.
			_, _ = unix.InotifyRmWatch(fd, uint32(wd))
		}
	})
}
