// Package watch reports changes in directories of the runtime, by inotify(7). It has one watch for
// each directory, and adds new directories without a gap. Changes are kept for a limited time. A
// reader that was cut off can therefore continue at its cursor, and gets an overflow item if that
// is impossible.
package watch

import (
	"sync"
	"time"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/owntime"
)

const (
	// maxWatchers limits the watched trees. Each needs an inotify instance, and a user has 128
	// (inotify(7)).
	maxWatchers = 16
	// maxDirectories limits the directories of all trees together.
	maxDirectories = 32_768
	// keptFor is the time for which a watch continues after its last reader has left.
	keptFor = 2 * time.Minute
)

// Table holds the watches of a runtime.
type Table struct {
	mu       sync.Mutex
	watchers map[key]*Watcher
	budget   budget
}

type key struct {
	path      string
	recursive bool
}

// NewTable returns a table without watches.
func NewTable() *Table { return &Table{watchers: map[key]*Watcher{}} }

// Open returns the watch of a directory, which may be shared. The caller must release it. open
// opens the directory. resume is true if the caller continues an earlier watch. The watch may then
// have ended, and the caller still has to read its end.
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

// hold counts a reader. The returned function closes the watch some time after the last reader has
// left.
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

// dropIdle closes the watch that has had no reader for the longest time. It returns false if there
// is none.
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
