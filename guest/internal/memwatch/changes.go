package memwatch

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// settleDelay is the least time between two reports of a version 2 cgroup. At the limit the file
// changes all the time.
const settleDelay = 20 * time.Millisecond

// changes reports changes of files. All files share one inotify(7) instance, because the kernel
// bounds the instances of a user.
type changes struct {
	fd   int
	mu   sync.Mutex
	told map[int]chan struct{} // by watch; closed when its file is gone
}

func newChanges() (*changes, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	c := &changes{fd: fd, told: map[int]chan struct{}{}}
	go c.read(os.NewFile(uintptr(fd), "inotify"))
	return c, nil
}

// of returns a channel that holds an item if the file has changed since the last item was taken.
// end closes the channel.
func (c *changes) of(path string) (told <-chan struct{}, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	watch, err := unix.InotifyAddWatch(c.fd, path, unix.IN_MODIFY|unix.IN_DELETE_SELF)
	if err != nil {
		return nil, nil, &os.PathError{Op: "inotify_add_watch", Path: path, Err: err}
	}
	channel := make(chan struct{}, 1)
	c.told[watch] = channel
	return channel, func() { c.end(watch, channel) }, nil
}

func (c *changes) end(watch int, channel chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[watch] != channel {
		return
	}
	delete(c.told, watch)
	close(channel)
	_, _ = unix.InotifyRmWatch(c.fd, uint32(watch)) // the watch may have ended with its file
}

func (c *changes) read(events *os.File) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := events.Read(buffer)
		if err != nil {
			return // the process ends
		}
		for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			watch := int(int32(binary.NativeEndian.Uint32(rest)))
			mask := binary.NativeEndian.Uint32(rest[4:])
			c.tell(watch, mask)
			rest = rest[unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(rest[12:])):]
		}
	}
}

func (c *changes) tell(watch int, mask uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told[watch]
	if told == nil {
		return
	}
	if mask&(unix.IN_DELETE_SELF|unix.IN_IGNORED) != 0 {
		delete(c.told, watch)
		close(told)
		return
	}
	select {
	case told <- struct{}{}:
	default: // an item from an earlier change is still there
	}
}

// beginV2 watches memory.events. The kernel reports each change of it (Linux,
// Documentation/admin-guide/cgroup-v2.rst).
func beginV2(dir string, all *changes) (watch, error) {
	told, end, err := all.of(filepath.Join(dir, "memory.events"))
	if err != nil {
		return watch{}, err
	}
	wait := func() bool {
		_, there := <-told
		time.Sleep(settleDelay)
		return there
	}
	return watch{wait: wait, end: end}, nil
}
