// Package launch starts programs of the host for the daemon. The daemon would have to copy its page
// tables for each program, and would pause meanwhile. This process is small and copies nothing: Go
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
	// maxOutputBytes is the size of the part of each output stream that is kept. The rest is read
	// and dropped.
	maxOutputBytes = 1 << 20
	// outputDelay is the time for which a stream is still read after the program has ended, if a
	// child of the program holds it open.
	outputDelay = 5 * time.Second
)

// Request starts a program, or kills a running one.
type Request struct {
	ID   uint64   `json:"id"`
	Argv []string `json:"argv"`
	// Capture returns the output in the result. Otherwise the output goes to /dev/null.
	Capture bool `json:"capture"`
	// Kill ends the program of an earlier request with SIGKILL. It has no result of its own.
	Kill bool `json:"kill"`
}

// Result reports the end of a program: an exit code, a signal, or Error if it could not be started.
type Result struct {
	ID     uint64 `json:"id"`
	Code   *int   `json:"code"`
	Signal string `json:"signal"`
	Error  string `json:"error"`
	Stdout []byte `json:"stdout"`
	Stderr []byte `json:"stderr"`
}

// Main serves requests, one line of JSON each, until its stdin or the daemon ends. The argument is
// the process id of the daemon. Running programs then continue. Requests from before the daemon's
// end are not started, because the next daemon would not know these programs. Neither the daemon
// nor a program leaves a core dump.
func Main(args []string) int {
	if len(args) != 1 {
		return 1
	}
	daemon, err := strconv.Atoi(args[0])
	if err != nil || daemon < 1 {
		return 1
	}
	// The signal follows the thread that requested it (PR_SET_PDEATHSIG of prctl(2)), so that
	// thread has to live as long as the process.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil || os.Getppid() != daemon {
		return 1
	}
	if err := leaveNoCores(0); err != nil {
		return 1
	}
	// If the daemon has ended meanwhile, it has no memory to dump, and stdin ends next.
	if err := leaveNoCores(daemon); err != nil && !errors.Is(err, unix.ESRCH) {
		return 1
	}
	if err := Serve(os.Stdin, os.Stdout); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	return 0
}

// Serve serves requests until they end.
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

// start starts a program and reports its end. Programs start in the order of the requests.
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
		_ = cmd.Wait() // the state has the result
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
	_ = s.results.Encode(result) // if the daemon has ended, stdin ends as well
}

// head keeps the first bytes that are written to it.
type head struct{ kept []byte }

func (h *head) Write(b []byte) (int, error) {
	room := maxOutputBytes - len(h.kept)
	h.kept = append(h.kept, b[:min(room, len(b))]...)
	return len(b), nil
}
