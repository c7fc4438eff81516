// Package process runs commands: their start, their output, their end, and what is known of them afterwards.
package process

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/supervise"
)

// Process is a command that runs or has run.
type Process struct {
	spec    Spec
	cwd     string
	user    string
	command *supervise.Command
	ring    *ring
	stdout  *drain
	stderr  *drain
	stdin   *input
	started time.Time
	gone    chan struct{} // closed when nothing it started is left
	timer   *time.Timer   // ends the time that the command was given; nil without one

	mu       sync.Mutex
	ended    time.Time
	exited   bool
	exitAt   int64 // the cursor after what it had written when it ended
	known    bool  // whether status says how it ended
	status   unix.WaitStatus
	timedOut bool
}

// Info is a process as the host sees it.
type Info struct {
	ID           string   `json:"id"`
	Pid          int      `json:"pid"`
	Command      *string  `json:"command"`
	Argv         []string `json:"argv"`
	Cwd          string   `json:"cwd"`
	User         string   `json:"user"`
	State        string   `json:"state"`
	ExitCode     *int     `json:"exit_code"`
	Signal       *string  `json:"signal"`
	TimedOut     bool     `json:"timed_out"`
	StartedAtMs  int64    `json:"started_at_ms"`
	EndedAtMs    *int64   `json:"ended_at_ms"`
	Cursor       int64    `json:"cursor"`
	StdoutBytes  int64    `json:"stdout_bytes"`
	StderrBytes  int64    `json:"stderr_bytes"`
	DroppedBytes int64    `json:"dropped_bytes"`
	Descendants  bool     `json:"descendants"`
}

// Info tells what is known of the process now.
func (p *Process) Info() Info {
	cursor, stdout, stderr, dropped := p.ring.counts()
	p.mu.Lock()
	defer p.mu.Unlock()
	info := Info{
		ID: p.spec.ID, Pid: p.command.Pid, Command: p.spec.Command, Argv: p.spec.Argv, Cwd: p.cwd, User: p.user,
		State: "running", TimedOut: p.timedOut, StartedAtMs: p.started.UnixMilli(),
		Cursor: cursor, StdoutBytes: stdout, StderrBytes: stderr, DroppedBytes: dropped,
		Descendants: p.exited && p.active(),
	}
	if p.exited {
		ended := p.ended.UnixMilli()
		info.State, info.EndedAtMs = "exited", &ended
		info.ExitCode, info.Signal = p.outcome()
	}
	return info
}

// outcome is how the process ended: both nil where that is not known.
func (p *Process) outcome() (code *int, signal *string) {
	if !p.known {
		return nil, nil
	}
	if p.status.Signaled() {
		n := 128 + int(p.status.Signal())
		name := signalName(p.status.Signal())
		return &n, &name
	}
	n := p.status.ExitStatus()
	return &n, nil
}

func signalName(s unix.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(s))
}

// exit tells whether the process itself has ended, and the cursor after what it had written by then.
func (p *Process) exit() (exited bool, cursor int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited, p.exitAt
}

// active tells whether the process or anything it started still runs.
func (p *Process) active() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// onExited notes the end of the process itself. What it had written is in the pipes by now, and is read first.
func (p *Process) onExited(status *unix.WaitStatus, gone bool) {
	at := time.Now()
	p.stdout.empty()
	p.stderr.empty()
	p.stdin.close()
	if p.timer != nil {
		p.timer.Stop()
	}
	cursor, _, _, _ := p.ring.counts()
	p.mu.Lock()
	p.exited, p.ended, p.exitAt = true, at, cursor
	if status != nil {
		p.known, p.status = true, *status
	}
	if gone {
		close(p.gone)
	}
	p.mu.Unlock()
	p.ring.notify()
}

// onGone notes that nothing is left, and answers whether that is the first that is known of the process's own end: a
// supervisor that was killed leaves an end of which nothing is known.
func (p *Process) onGone() (first bool) {
	if exited, _ := p.exit(); !exited {
		p.onExited(nil, true)
		first = true
	}
	if p.active() {
		close(p.gone)
	}
	return first
}

// killTimeout bounds how long a kill may take until every descendant is gone.
const killTimeout = 10 * time.Second

// Kill ends the process and every descendant, and returns when they are gone.
func (p *Process) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if err := p.command.Kill(ctx); err != nil {
		return fault.New(fault.Internal, "process %s: not everything it started could be killed within %s", p.spec.ID, killTimeout)
	}
	<-p.gone // follows at once
	return nil
}

// expire is the end of the time that the command was given.
func (p *Process) expire() {
	p.mu.Lock()
	if p.exited {
		p.mu.Unlock()
		return
	}
	p.timedOut = true
	p.mu.Unlock()
	_ = p.Kill(context.Background()) // what could not be killed shows as descendants
}

// Signal sends a signal, by name, to the process group.
func (p *Process) Signal(name string) error {
	number := unix.SignalNum(name)
	if number == 0 {
		return fault.New(fault.InvalidRequest, "signal %q: there is no such signal", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited {
		return fault.New(fault.Conflict, "process %s has ended", p.spec.ID)
	}
	err := unix.Kill(-p.command.Pid, number)
	if err == unix.ESRCH {
		return fault.New(fault.Conflict, "process %s has ended", p.spec.ID)
	}
	if err != nil {
		return fault.New(fault.Internal, "process %s: %s", p.spec.ID, os.NewSyscallError("kill", err))
	}
	return nil
}

// Write gives bytes to the process's standard input and, where eof is set, closes it afterwards.
func (p *Process) Write(ctx context.Context, data []byte, eof bool) (int, error) {
	n, err := p.stdin.write(ctx, data, eof)
	if err == errInputClosed {
		return n, fault.New(fault.Conflict, "process %s: its standard input is closed", p.spec.ID)
	}
	return n, err
}
