// Package launch starts programs of the host for the daemon, which would have to copy its own page
// tables for each of them and stand still meanwhile. This process is small, and copies nothing: Go
// starts a program with CLONE_VFORK and CLONE_VM (clone(2)).
package launch

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxOutputBytes is what is kept of each stream of a program; what comes after is read and
	// dropped.
	maxOutputBytes = 1 << 20
	// outputDelay is how long a stream is read after the program has ended, where something that it
	// left behind holds it open.
	outputDelay = 5 * time.Second
)

// Request starts a program, or kills one that was started.
type Request struct {
	ID   uint64   `json:"id"`
	Argv []string `json:"argv"`
	// Capture has the output answered. Else it goes to /dev/null.
	Capture bool `json:"capture"`
	// Kill ends the program of an earlier request with SIGKILL; there is no answer to that by
	// itself.
	Kill bool `json:"kill"`
}

// Result is how a program ended: with Code, by Signal, or not at all since it could not be started,
// which Error says.
type Result struct {
	ID     uint64 `json:"id"`
	Code   *int   `json:"code"`
	Signal string `json:"signal"`
	Error  string `json:"error"`
	Stdout []byte `json:"stdout"`
	Stderr []byte `json:"stderr"`
}

// Main serves requests, a line of JSON each, until its stdin ends or the daemon does, whose process
// id is the one argument. Programs that run then go on, and none is started that the daemon had
// asked for before its end: the next daemon would not know of it. Neither the daemon nor any
// program leaves its memory in a file.
func Main(args []string) int {
	if len(args) != 1 {
		return 1
	}
	daemon, err := strconv.Atoi(args[0])
	if err != nil || daemon < 1 {
		return 1
	}
	// The signal is the thread's that asks for it (PR_SET_PDEATHSIG of prctl(2)); this one lives as
	// long as the process.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil || os.Getppid() != daemon {
		return 1
	}
	if err := leaveNoCores(0); err != nil {
		return 1
	}
	// One that has ended meanwhile has no memory any more, and stdin says so next.
	if err := leaveNoCores(daemon); err != nil && !errors.Is(err, unix.ESRCH) {
		return 1
	}
	if err := Serve(os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	return 0
}

// Serve serves requests until there are no more.
func Serve(requests io.Reader, results io.Writer) error {
	s := &server{running: map[uint64]*os.Process{}, results: json.NewEncoder(results)}
	in := json.NewDecoder(bufio.NewReader(requests))
	for {
		var r Request
		if err := in.Decode(&r); err != nil {
			return err
		}
		if r.Kill {
			s.kill(r.ID)
		} else {
			s.start(r)
		}
	}
}

type server struct {
	mu      sync.Mutex
	running map[uint64]*os.Process
	results *json.Encoder
}

// start starts a program and has its end told. Programs are started in the order in which they are
// asked for.
func (s *server) start(r Request) {
	if len(r.Argv) == 0 {
		s.tell(Result{ID: r.ID, Error: "no program"})
		return
	}
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = os.Environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = outputDelay
	var stdout, stderr head
	if r.Capture {
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
	}
	if err := cmd.Start(); err != nil {
		s.tell(Result{ID: r.ID, Error: err.Error()})
		return
	}
	s.mu.Lock()
	s.running[r.ID] = cmd.Process
	s.mu.Unlock()
	go func() {
		_ = cmd.Wait() // how it ended stands in its state
		s.mu.Lock()
		delete(s.running, r.ID)
		s.mu.Unlock()
		result := Result{ID: r.ID, Stdout: stdout.kept, Stderr: stderr.kept}
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if status.Signaled() {
			result.Signal = unix.SignalName(status.Signal())
		} else {
			code := status.ExitStatus()
			result.Code = &code
		}
		s.tell(result)
	}()
}

func (s *server) kill(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if process, ok := s.running[id]; ok {
		_ = process.Kill() // it may have ended by itself
	}
}

func (s *server) tell(result Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.results.Encode(result) // who does not listen any more has ended, and stdin with it
}

// head keeps the first bytes of what is written to it.
type head struct{ kept []byte }

func (h *head) Write(b []byte) (int, error) {
	room := maxOutputBytes - len(h.kept)
	h.kept = append(h.kept, b[:min(room, len(b))]...)
	return len(b), nil
}
