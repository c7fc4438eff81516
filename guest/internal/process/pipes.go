package process

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// readBytes is the size of one read from a pipe: half of a pipe's default size.
const readBytes = 32 << 10

// maxPipeBytes is the largest size of a pipe without privileges (pipe(7)).
const maxPipeBytes = 1 << 20

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readBytes); return &b }}

// drain copies one output stream of a process to its ring. It waits for the ring's holders, as a
// pipe does for its reader, and for no other reader.
type drain struct {
	mu     sync.Mutex // held from a read to its append, so that no bytes are in between
	file   *os.File
	raw    syscall.RawConn
	ring   *ring
	stream Stream
}

// newDrain returns a drain and the process's end of its pipe.
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

// pollable returns a file of a pipe's end. A goroutine that waits for it needs no thread.
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

// run reads until the last writer has closed the other end.
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

// once reads available bytes into the ring, one buffer at most.
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

// empty reads the current content of the pipe. It is bounded, because other processes may continue
// to write.
func (d *drain) empty() {
	// Control fails only after run has read everything and closed the file.
	_ = d.raw.Control(func(fd uintptr) {
		for total := 0; total < maxPipeBytes; {
			n, state := d.once(int(fd))
			if state != readMore {
				return
			}
			total += n
		}
	})
}
