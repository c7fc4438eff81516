package watch

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/owntime"
)

// mask selects the events of a directory.
const mask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_EXCL_UNLINK | unix.IN_ONLYDIR

// Watcher is the watch of one directory and, if recursive, of its descendants.
type Watcher struct {
	history
	path      string // without a slash at the end; empty for the root
	recursive bool
	// Opens the directory by its path. An open descriptor would keep a removed directory alive.
	open   func() (int, error)
	budget *budget
	tree   tree

	closing sync.Mutex
	closed  bool
	file    *os.File // the inotify instance

	// Guarded by the table's lock:
	readers   int
	expiry    *owntime.Timer
	idleSince time.Time
}

// newWatcher begins to watch the directory that open opens.
func newWatcher(path string, recursive bool, open func() (int, error), b *budget) (*Watcher, error) {
	w := &Watcher{path: strings.TrimSuffix(path, "/"), recursive: recursive, open: open, budget: b}
	w.begin()
	root, err := open()
	if err != nil {
		return nil, err
	}
	if err := w.watchAll(root); err != nil {
		w.close()
		b.give(w.tree.clear())
		return nil, w.refusal(path, err)
	}
	go w.run()
	return w, nil
}

// errTooMany is returned if the budget of directories is used up.
var errTooMany = fault.New(fault.TooLarge, "more than %d directories would be watched: watch a smaller tree, or without recursive", maxDirectories)

func (w *Watcher) refusal(path string, err error) error {
	switch err {
	case unix.ENOSPC:
		return fault.New(fault.TooLarge, "%s: the kernel cannot watch more directories (fs.inotify.max_user_watches): watch a smaller tree, or without recursive", path)
	case unix.EMFILE:
		return fault.New(fault.Conflict, "%s: the kernel has no more inotify instances (fs.inotify.max_user_instances)", path)
	default:
		return fault.AtPath(path, err)
	}
}

// watchAll makes a new inotify instance and watches the whole tree below the open directory, which
// it closes.
func (w *Watcher) watchAll(root int) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		_ = unix.Close(root)
		return err
	}
	file := os.NewFile(uintptr(fd), "inotify")
	w.closing.Lock()
	old, closed := w.file, w.closed
	w.file = file
	w.closing.Unlock()
	if old != nil {
		_ = old.Close()
	}
	if closed {
		_ = file.Close()
		_ = unix.Close(root)
		return os.ErrClosed
	}
	w.budget.give(w.tree.clear())
	return w.addOpen(root, nil, "", false)
}

// close ends the watch, and with it run.
func (w *Watcher) close() {
	w.closing.Lock()
	defer w.closing.Unlock()
	w.closed = true
	if w.file != nil {
		_ = w.file.Close()
	}
}

// addOpen watches an open directory, which it closes, and then lists it, so that no later change is
// missed. With tell it also reports the existing entries. It remembers them, so that an entry with
// an event is reported once.
func (w *Watcher) addOpen(fd int, parent *node, name string, tell bool) error {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	wd, err := w.addWatch(fd)
	if err != nil {
		return err
	}
	n, fresh := w.tree.put(wd, parent, name, &st)
	if fresh && !w.budget.take() {
		w.tree.remove(n)
		return errTooMany
	}
	if !w.recursive && !tell {
		return nil
	}
	at := w.path + n.path()
	if len(at) > unix.PathMax-unix.NAME_MAX-2 { // paths of its entries would be too long
		return nil
	}
	return fdtree.Each(fd, func(e fdtree.Entry) error {
		isDir := e.Type == unix.DT_DIR
		if e.Type == unix.DT_UNKNOWN {
			isDir = unix.Fstatat(fd, e.Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
		}
		if tell {
			n.seen(e.Name)
			w.add(change{kind: Created, path: at + "/" + e.Name, directory: isDir})
		}
		if !isDir || !w.recursive {
			return nil
		}
		inner, err := fdtree.OpenDir(fd, e.Name)
		// The directory was removed meanwhile, which another event reports.
		if err == unix.ENOENT || err == unix.ENOTDIR {
			return nil
		}
		if err != nil {
			return err
		}
		return w.addOpen(inner, n, e.Name, tell)
	})
}

// addWatch watches the directory of a descriptor, regardless of its current name.
func (w *Watcher) addWatch(fd int) (wd int32, err error) {
	control := w.control(func(inotify int) {
		var n int
		n, err = unix.InotifyAddWatch(inotify, "/proc/self/fd/"+strconv.Itoa(fd), mask)
		wd = int32(n)
	})
	if control != nil {
		return 0, control
	}
	return wd, err
}

func (w *Watcher) control(f func(inotify int)) error {
	w.closing.Lock()
	file := w.file
	w.closing.Unlock()
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// event is an event of inotify(7).
type event struct {
	wd     int32
	mask   uint32
	cookie uint32
	name   string
}

// parse parses struct inotify_event: wd, mask, cookie and length of 4 bytes each, and a name padded
// with NULs.
func parse(b []byte) (events []event) {
	for len(b) >= unix.SizeofInotifyEvent {
		length := int(binary.NativeEndian.Uint32(b[12:]))
		if length > len(b)-unix.SizeofInotifyEvent {
			break
		}
		name := b[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+length]
		events = append(events, event{
			wd: int32(binary.NativeEndian.Uint32(b)), mask: binary.NativeEndian.Uint32(b[4:]), cookie: binary.NativeEndian.Uint32(b[8:]),
			name: strings.TrimRight(string(name), "\x00"),
		})
		b = b[unix.SizeofInotifyEvent+length:]
	}
	return events
}

const (
	// pairWait is the longest wait for the second half of a move. One call queues both halves,
	// mostly at once.
	pairWait = 25 * time.Millisecond
	// rootEvery is the time after which an idle watch checks if its directory is still at its path.
	// The removal of a directory that a process has open causes no event.
	rootEvery = 5 * time.Second
	// maxPending limits the events that are handled together.
	maxPending = 8192
)

// run reports changes until the watch is closed.
func (w *Watcher) run() {
	defer func() {
		w.close()
		w.budget.give(w.tree.clear())
		w.add(change{kind: End, reason: "closed"}) // has no effect if it has ended before
	}()
	buffer := make([]byte, 64<<10)
	for {
		events, err := w.next(buffer)
		if os.IsTimeout(err) {
			if w.rootIsGone() {
				w.gone()
				return
			}
			continue
		}
		if err != nil {
			return
		}
		if err := w.handleAll(events); err != nil {
			return
		}
		if w.hasEnded() {
			return
		}
		if w.queued() == 0 {
			w.tree.forgetSeen()
		}
	}
}

// next waits for events, and returns all that have arrived.
func (w *Watcher) next(buffer []byte) ([]event, error) {
	_ = w.file.SetReadDeadline(time.Now().Add(rootEvery)) // a pollable file has deadlines
	n, err := w.file.Read(buffer)
	if err != nil {
		return nil, err
	}
	events := parse(buffer[:n])
	for waited := false; len(events) < maxPending; {
		if w.queued() == 0 {
			if waited || !hasLoneMove(events) {
				break
			}
			waited = true
			_ = w.file.SetReadDeadline(time.Now().Add(pairWait))
		}
		n, err := w.file.Read(buffer)
		if os.IsTimeout(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		events = append(events, parse(buffer[:n])...)
	}
	return events, nil
}

// queued returns the bytes of waiting events (FIONREAD, which is TIOCINQ).
func (w *Watcher) queued() (n int) {
	_ = w.control(func(fd int) { n, _ = unix.IoctlGetInt(fd, unix.TIOCINQ) }) // 0 if it is closed
	return n
}

func hasLoneMove(events []event) bool {
	for i, e := range events {
		if e.mask&unix.IN_MOVED_FROM != 0 && secondHalf(events[i+1:], e.cookie) < 0 {
			return true
		}
	}
	return false
}

// secondHalf returns the index of the other half of a move, or -1.
func secondHalf(events []event, cookie uint32) int {
	for i, e := range events {
		if e.mask&unix.IN_MOVED_TO != 0 && e.cookie == cookie {
			return i
		}
	}
	return -1
}

// Follow writes the changes after a cursor as NDJSON until the watch or the context ends. Without a
// cursor it begins with a start item, and reports all later changes.
func (w *Watcher) Follow(ctx context.Context, cursor *int64, out io.Writer, flush func() error) error {
	at := w.end()
	var lines []byte
	if cursor != nil {
		at = *cursor
	} else {
		lines = (&change{kind: Start}).line(at)
	}
	for {
		changes, from, lost, more := w.read(at)
		at = from
		if lost {
			lines = append(lines, (&change{kind: Overflow}).line(at)...)
		}
		for i := range changes {
			at++
			lines = append(lines, changes[i].line(at)...)
		}
		if len(lines) > 0 {
			if _, err := out.Write(lines); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
			lines = lines[:0]
		}
		if n := len(changes); n > 0 && changes[n-1].kind == End {
			return nil
		}
		if more == nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		if w.hasEnded() && at == w.end() { // the caller has read the end before
			_, err := out.Write((&change{kind: End}).line(at))
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
