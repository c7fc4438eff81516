// Package process runs commands: their start, their output, their end, and what is known of them
// afterwards.
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
	stderr  *drain // nil where there is a terminal
	stdin   *input
	session *turn // its turn in a session; nil outside of one

	terminal *pty.Terminal // which all three are; nil where they are pipes

	holds   *holds
	started time.Time
	gone    chan struct{}  // closed when nothing it started is left
	timer   *owntime.Timer // ends the time that the command was given; nil without one

	kernelKills kernelKills // at its start

	mu       sync.Mutex
	ended    time.Time
	exited   bool
	exitAt   int64 // the cursor after what it had written when it ended
	known    bool  // whether status says how it ended
	status   unix.WaitStatus
	timedOut bool
	// oomKilled is true if one of its processes was killed because the runtime was out of memory.
	oomKilled bool
	// asked says that it was killed by a request or at its timeout.
	asked bool
	kept  *bool // whether its session has what it left; nil outside of one, and while it runs
}

// Info is a process as the host sees it.
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

	Pty *pty.Size `json:"pty"`
}

// Info tells what is known of the process now.
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
		OomKilled: p.oomKilled,
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

// exit tells whether the process itself has ended, and the cursor after what it had written by
// then.
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

// onExited notes the end of the process itself. What it had written is in the pipes by now, and is
// read first.
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

// onGone notes that nothing is left, and answers whether that is the first that is known of the
// process's own end: a supervisor that was killed leaves an end of which nothing is known.
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
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
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
	number := signalNumber(name)
	if number == 0 {
		return fault.New(fault.InvalidRequest, "signal %q: there is no such signal", name)
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

// Write gives bytes to the process's standard input and, where eof is set and all of them were
// taken, closes it afterwards. They begin at offset, counted from the first byte that it was ever
// given: what it has taken before is not given again. Without an offset they follow what was taken.
// A process that does not read for maxInputWait gets fewer.
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
		return written, next, fault.New(fault.Conflict, "process %s: offset %d is after what its standard input has taken, %d", p.spec.ID, *offset, next).
			With("reason", "stdin_gap").With("offset", next)
	default:
		return written, next, err
	}
}
