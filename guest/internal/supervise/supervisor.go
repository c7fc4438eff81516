// Package supervise runs each command under its own supervisor process, which adopts the command's
// orphans. A kill therefore finds every descendant below the supervisor.
//
// A supervisor is this binary re-executed, with one end of a socket pair as descriptor 3. It waits
// for a Start with three descriptors, spawns the command and reports that. It reaps until no
// process is left, reports that, and waits for the next Start.
package supervise

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/outofmemory"
	"holt.dev/guest/internal/wire"
)

const controlFd = 3

// Main runs a supervisor. It ends when the guest closes its end of the socket pair.
func Main() int {
	// The caller has locked this goroutine to the process's first thread, because commands inherit
	// the pids group of that thread.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(20)
	unix.CloseOnExec(controlFd)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	score := openOomScore()
	for {
		score.set(idleScore)
		start, fds, err := receive()
		if err != nil {
			return 0
		}
		score.set(commandScore)
		pid, err := spawn(start, fds)
		score.set(busyScore)
		for _, fd := range fds {
			_ = unix.Close(fd) // the command has its own copies
		}
		if err != nil {
			if report(appendReport(nil, reportFailed, uint32(errnoOf(err)))) != nil {
				return 0
			}
			continue
		}
		if report(appendReport(nil, reportStarted, uint32(pid))) != nil || reap(pid) != nil {
			return 0
		}
	}
}

// reap reaps children until none is left. It reports the end of the command itself at once.
func reap(leader int) error {
	options := 0
	var out []byte
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, options, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil: // ECHILD: no child is left
			return report(appendReport(out, reportIdle, 0))
		case pid == 0: // the command has ended, but a descendant has not
			if err := report(out); err != nil {
				return err
			}
			out, options = nil, 0
		case pid == leader:
			out, options = appendReport(nil, reportExited, uint32(status)), unix.WNOHANG
		}
	}
}

func spawn(start *Start, fds []int) (int, error) {
	unix.Umask(int(start.Umask))
	files := []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])}
	for i, extra := range start.Extra {
		files = setFile(files, extra.At, fds[3+i])
	}
	attr := &syscall.ProcAttr{
		Dir:   start.Dir,
		Env:   start.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: start.Terminal},
	}
	if start.Switch {
		attr.Sys.Credential = &syscall.Credential{Uid: start.UID, Gid: start.GID, Groups: start.Groups}
	}
	if len(start.Limits) > 0 {
		return spawnLimited(start, attr)
	}
	return syscall.ForkExec(start.Path, start.Argv, attr)
}

// setFile sets a descriptor number. Lower numbers that are not set are closed in the child.
func setFile(files []uintptr, at, fd int) []uintptr {
	for len(files) <= at {
		files = append(files, ^uintptr(0))
	}
	files[at] = uintptr(fd)
	return files
}

// receive reads one Start. The descriptors arrive with its first byte.
func receive() (*Start, []int, error) {
	head := make([]byte, wire.HeadBytes)
	oob := make([]byte, unix.CmsgSpace((3+maxExtra)*4))
	n, oobn, err := receiveRights(head, oob)
	if err != nil {
		return nil, nil, err
	}
	if n != len(head) {
		return nil, nil, wire.ErrMalformed
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return nil, nil, wire.ErrMalformed
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) < 3 {
		return nil, nil, wire.ErrMalformed
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxStartBytes {
		return nil, nil, wire.ErrMalformed
	}
	body := make([]byte, size)
	for done := 0; done < len(body); {
		n, err := unix.Read(controlFd, body[done:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, nil, wire.ErrMalformed
		}
		done += n
	}
	start, err := decodeStart(body)
	if err == nil && (len(fds) != 3+len(start.Extra) || !start.extraFits()) {
		err = wire.ErrMalformed
	}
	return start, fds, err
}

func receiveRights(head, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(controlFd, head, oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL)
		if err != unix.EINTR {
			return n, oobn, err
		}
	}
}

func report(b []byte) error {
	for len(b) > 0 {
		n, err := unix.SendmsgN(controlFd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.EIO
}

// These are added to the guest's score, if the guest can be killed. They matter for a second kill:
// the kernel kills another process if the first thread of the killed one is gone while the last
// thread has not yet freed the memory. An idle supervisor is the best choice, because nothing is
// lost with it. The end of any other supervisor ends its command.
const (
	busyScore    = 250
	commandScore = 500
	idleScore    = 550
)

// oomScore is the supervisor's own oom_score_adj, or nil if there is none. A child inherits the
// value at its birth, so it is that of a command around each spawn.
type oomScore struct {
	file  *os.File
	guest int // the score of the guest
	now   int
}

func openOomScore() *oomScore {
	file, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return nil // nothing to set
	}
	text := make([]byte, 16)
	n, _ := file.ReadAt(text, 0)                                    // an empty read is not a number
	guest, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))) // the inherited value
	if err != nil {
		_ = file.Close()
		return nil
	}
	return &oomScore{file: file, guest: guest, now: guest}
}

// set sets the score that the process now needs.
func (o *oomScore) set(beside int) {
	if o == nil {
		return
	}
	score := scoreBeside(o.guest, beside)
	if score == o.now {
		return
	}
	// A failed write only changes the order in which processes are killed.
	_, _ = o.file.WriteAt([]byte(strconv.Itoa(score)), 0)
	o.now = score
}

// scoreBeside returns a score for this score of the guest. If the guest cannot be killed, neither
// can a supervisor.
func scoreBeside(guest, beside int) int {
	switch {
	case guest != outofmemory.Unkillable:
		return min(guest+beside, outofmemory.MaxScore)
	case beside == commandScore:
		return 0
	default:
		return outofmemory.Unkillable
	}
}
