// Package process runs commands, and keeps their output and results.
package process

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/owntime"
	"holt.dev/guest/internal/pty"
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
	stderr  *drain // nil if there is a terminal
	stdin   *input
	session *turn // nil without a session

	terminal *pty.Terminal // the terminal that all three are; nil for pipes

	holds   *holds
	started time.Time
	gone    chan struct{}  // closed when no descendant is left
	timer   *owntime.Timer // for the timeout; nil without one

	kernelKills kernelKills // at its start

	mu       sync.Mutex
	ended    time.Time
	exited   bool
	exitAt   int64 // the cursor after the output that it had written when it ended
	known    bool  // true if status is known
	status   unix.WaitStatus
	timedOut bool
	// oomKilled is true if one of its processes was killed because the runtime was out of memory.
	oomKilled bool
	// asked is true if it was killed by a request or at its timeout.
	asked bool
	kept  *bool // true if the session keeps its state; nil without a session, and while it runs
}

// Info describes a process for the host.
type Info struct {
	ID            string   `json:"id"`
	Pid           int      `json:"pid"`
	Command       *string  `json:"command"`
	Argv          []string `json:"argv"`
	Cwd           string   `json:"cwd"`
	User          string   `json:"user"`
	State         string   `json:"state"`
	ExitCode      *int     `json:"exit_code"`
	Signal        *string  `json:"signal"`
	TimedOut      bool     `json:"timed_out"`
	StartedAtMs   int64    `json:"started_at_ms"`
	EndedAtMs     *int64   `json:"ended_at_ms"`
	Cursor        int64    `json:"cursor"`
	StdoutBytes   int64    `json:"stdout_bytes"`
	StderrBytes   int64    `json:"stderr_bytes"`
	DroppedBytes  int64    `json:"dropped_bytes"`
	StdoutDropped int64    `json:"stdout_dropped_bytes"`
	StderrDropped int64    `json:"stderr_dropped_bytes"`
	Descendants   bool     `json:"descendants"`
	Session       *string  `json:"session"`
	SessionKept   *bool    `json:"session_kept"`
	OomKilled     bool     `json:"oom_killed"`
	Label         *string  `json:"label,omitempty"`

	Pty *pty.Size `json:"pty"`
}

// Info returns the current description of the process.
func (p *Process) Info() Info {
	c := p.ring.counts()
	p.mu.Lock()
	defer p.mu.Unlock()
	info := Info{
		ID: p.spec.ID, Pid: p.command.Pid, Command: p.spec.Command, Argv: p.spec.Argv, Cwd: p.cwd, User: p.user,
		State: "running", TimedOut: p.timedOut, StartedAtMs: p.started.UnixMilli(),
		Cursor: c.cursor, StdoutBytes: c.stdout, StderrBytes: c.stderr,
		DroppedBytes: c.stdoutDropped + c.stderrDropped, StdoutDropped: c.stdoutDropped, StderrDropped: c.stderrDropped,
		Descendants: p.exited && p.active(), Session: p.spec.Session, SessionKept: p.kept,
		OomKilled: p.oomKilled, Label: p.spec.Label,
	}
	if p.terminal != nil {
		size := p.terminal.Size()
		info.Pty = &size
	}
	if p.exited {
		ended := p.ended.UnixMilli()
		info.State, info.EndedAtMs = "exited", &ended
		info.ExitCode, info.Signal = p.outcome()
	}
	return info
}

// outcome returns the result of the process. Both values are nil if it is unknown.
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

// exit returns true if the process itself has ended, and the cursor after the output that it had
// written by then.
func (p *Process) exit() (exited bool, cursor int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited, p.exitAt
}

// active returns true if the process or a descendant still runs.
func (p *Process) active() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// onExited notes the end of the process itself. It first reads the output that is still in the
// pipes.
func (p *Process) onExited(status *unix.WaitStatus, gone bool) {
	at := time.Now()
	for _, d := range p.outputs() {
		d.empty()
	}
	p.stdin.close()
	if p.terminal != nil {
		p.terminal.HangUp()
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	cursor := p.ring.counts().cursor
	kept := p.session.finish()
	p.mu.Lock()
	p.kept = kept
	p.exited, p.ended, p.exitAt = true, at, cursor
	if status != nil {
		p.known, p.status = true, *status
		p.oomKilled = p.oomKilled || !p.asked && looksKilled(*status) && p.kernelKills.grown()
	}
	if gone {
		close(p.gone)
	}
	p.mu.Unlock()
	p.ring.notify()
	p.session.leave()
}

// onGone notes that no descendant is left. It returns true if the end of the process itself was not
// noted before: after a supervisor was killed, the result is unknown.
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

// killTimeout limits the wait for the end of all descendants.
const killTimeout = 10 * time.Second

// Kill ends the process and every descendant, and returns when they are gone.
func (p *Process) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	if err := p.command.Kill(ctx); err != nil {
		return fault.New(fault.Internal, "process %s: some of its descendants could not be killed within %s", p.spec.ID, killTimeout)
	}
	<-p.gone // is closed soon
	return nil
}

// expire kills the process at its timeout.
func (p *Process) expire() {
	p.mu.Lock()
	if p.exited {
		p.mu.Unlock()
		return
	}
	p.timedOut = true
	p.mu.Unlock()
	_ = p.Kill(context.Background()) // surviving processes are reported as descendants
}

// Signal sends a signal, by name, to the process group.
func (p *Process) Signal(name string) error {
	number := signalNumber(name)
	if number == 0 {
		return fault.New(fault.InvalidRequest, "there is no signal %q", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited {
		return fault.New(fault.Conflict, "process %s has ended", p.spec.ID)
	}
	if number == unix.SIGKILL {
		p.asked = true
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

// Write writes bytes to the process's standard input. If eof is set, it closes the input after all
// bytes were written. The bytes begin at offset, counted from the first byte of the input. Bytes
// that were written before are skipped. Without an offset they follow the earlier bytes. If the
// process does not read for maxInputWait, fewer bytes are written.
func (p *Process) Write(ctx context.Context, data []byte, offset *int64, eof bool) (written int, next int64, err error) {
	waiting, cancel := context.WithTimeout(ctx, maxInputWait)
	defer cancel()
	written, next, err = p.stdin.write(waiting, data, offset, eof)
	switch {
	case err == nil || (waiting.Err() != nil && ctx.Err() == nil && err != errInputClosed):
		return written, next, nil
	case err == errInputClosed:
		return written, next, fault.New(fault.Conflict, "process %s: its standard input is closed", p.spec.ID).
			With("reason", "stdin_closed").With("offset", next)
	case err == errInputGap:
		return written, next, fault.New(fault.Conflict, "process %s: offset %d is after the end of its standard input, %d", p.spec.ID, *offset, next).
			With("reason", "stdin_gap").With("offset", next)
	default:
		return written, next, err
	}
}
