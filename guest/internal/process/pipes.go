package process

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// readBytes is how much is read from a pipe at once: half of what a pipe holds by default.
const readBytes = 32 << 10

// maxPipeBytes bounds what a pipe can hold for someone without privileges (pipe(7)).
const maxPipeBytes = 1 << 20

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readBytes); return &b }}

// drain moves what a process writes to one stream into its ring. It waits for the ring's holder, as
// a pipe does for its reader, and for nobody else.
type drain struct {
	mu     sync.Mutex // held from a read to its append, so that nothing is between pipe and ring
	file   *os.File
	raw    syscall.RawConn
	ring   *ring
	stream Stream
}

// newDrain answers a drain and the end of the pipe that the process gets.
func newDrain(r *ring, stream Stream) (*drain, int, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	file, raw, err := pollable(fds[0])
	if err != nil {
		_ = unix.Close(fds[1])
		return nil, -1, err
	}
	return &drain{file: file, raw: raw, ring: r, stream: stream}, fds[1], nil
}

// pollable makes a file of a pipe's end with which a goroutine can wait without a thread.
func pollable(fd int) (*os.File, syscall.RawConn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, nil, err
	}
	file := os.NewFile(uintptr(fd), "pipe")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, raw, nil
}

// run reads until nobody holds the other end any more.
func (d *drain) run() {
	defer d.file.Close()
	for {
		for more := d.ring.wait(); more != nil; more = d.ring.wait() {
			<-more
		}
		state := readMore
		err := d.raw.Read(func(fd uintptr) bool {
			_, state = d.once(int(fd))
			return state != readEmpty
		})
		if err != nil || state == readEnd {
			return
		}
	}
}

type readState int

const (
	readMore readState = iota
	readEmpty
	readEnd
)

// once reads what is there, at most a buffer full, into the ring.
func (d *drain) once(fd int) (int, readState) {
	buf := readBuffers.Get().(*[]byte)
	defer readBuffers.Put(buf)
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		n, err := unix.Read(fd, *buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return 0, readEmpty
		case err != nil || n == 0:
			return 0, readEnd
		}
		d.ring.append(d.stream, (*buf)[:n])
		return n, readMore
	}
}

// empty reads what is in the pipe now, but not for ever what others go on writing.
func (d *drain) empty() {
	_ = d.raw.Control(func(fd uintptr) { // fails only once run has read everything and closed the file
		for total := 0; total < maxPipeBytes; {
			n, state := d.once(int(fd))
			if state != readMore {
				return
			}
			total += n
		}
	})
}
