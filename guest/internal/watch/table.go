// Package watch tells what changes in directories of the runtime, by inotify(7): one watch for each
// directory, new directories included without a gap. What is told is kept for a while, so that a
// reader who was cut off goes on where it was, and is told when it cannot.
package watch

import (
	"sync"
	"time"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/owntime"
)

const (
	// maxWatchers bounds how many trees are watched at once: each takes an inotify instance, of
	// which a user has 128 (inotify(7)).
	maxWatchers = 16
	// maxDirectories bounds the directories of all of them.
	maxDirectories = 32_768
	// keptFor is how long a watch goes on when its reader has left.
	keptFor = 2 * time.Minute
)

// Table is the watches of a runtime.
type Table struct {
	mu       sync.Mutex
	watchers map[key]*Watcher
	budget   budget
}

type key struct {
	path      string
	recursive bool
}

// NewTable makes a table without watches.
func NewTable() *Table { return &Table{watchers: map[key]*Watcher{}} }

// Open answers the watch of a directory, which somebody may have opened before; the caller releases
// it. open opens the directory. resume says that the caller was there before: the watch may then be
// one that has ended, whose end the caller has yet to see.
func (t *Table) Open(path string, recursive, resume bool, open func() (int, error)) (w *Watcher, release func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := key{path, recursive}
	w = t.watchers[k]
	if w != nil && (resume || !w.hasEnded()) {
		return w, t.hold(k, w), nil
	}
	if w == nil && len(t.watchers) >= maxWatchers && !t.dropIdle() {
		return nil, nil, fault.New(fault.Conflict, "%d directories are watched already: end one of these watches", maxWatchers)
	}
	fresh, err := newWatcher(path, recursive, open, &t.budget)
	if err != nil {
		return nil, nil, err
	}
	if w != nil {
		w.close()
	}
	t.watchers[k] = fresh
	return fresh, t.hold(k, fresh), nil
}

// hold counts a reader, and has the watch closed some time after the last one has left.
func (t *Table) hold(k key, w *Watcher) func() {
	w.readers++
	if w.expiry != nil {
		w.expiry.Stop()
		w.expiry = nil
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if w.readers--; w.readers > 0 {
			return
		}
		w.idleSince = time.Now()
		var expiry *owntime.Timer
		expiry = owntime.AfterFunc(keptFor, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			if w.expiry == expiry {
				t.drop(k, w)
			}
		})
		w.expiry = expiry
	}
}

func (t *Table) drop(k key, w *Watcher) {
	if t.watchers[k] == w {
		delete(t.watchers, k)
	}
	w.close()
}

// dropIdle makes room by closing the watch that has been without a reader for longest.
func (t *Table) dropIdle() bool {
	var oldest *Watcher
	var at key
	for k, w := range t.watchers {
		if w.readers == 0 && (oldest == nil || w.idleSince.Before(oldest.idleSince)) {
			oldest, at = w, k
		}
	}
	if oldest == nil {
		return false
	}
	t.drop(at, oldest)
	return true
}

// budget counts directories.
type budget struct {
	mu   sync.Mutex
	used int
}

func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used >= maxDirectories {
		return false
	}
	b.used++
	return true
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}
