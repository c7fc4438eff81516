package process

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/owntime"
	"holt.dev/guest/internal/supervise"
)

const (
	// maxEnded limits the ended processes that are remembered.
	maxEnded = 1000
	// maxEndedBytes limits the output of all ended processes together.
	maxEndedBytes = 64 << 20
)

// Table holds all running processes, and the last ones that have ended.
type Table struct {
	pool *supervise.Pool

	mu        sync.Mutex
	byID      map[string]*Process // nil during the start
	order     []*Process          // oldest first
	ended     []*Process          // in order of their ends
	endedHeld int64
	held      map[*Process]int64
	sessions  map[string]*session
}

// NewTable returns an empty table. Its commands run under supervisors of this pool.
func NewTable(pool *supervise.Pool) *Table {
	return &Table{pool: pool, byID: map[string]*Process{}, held: map[*Process]int64{}, sessions: map[string]*session{}}
}

// Start runs a command. A command of a session first waits for its turn. After an error nothing has
// run, and the id is free again.
func (t *Table) Start(ctx context.Context, spec Spec, defaults Defaults) (*Process, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	var turn *turn
	if spec.Session != nil {
		var err error
		if turn, err = t.enterSession(ctx, &spec, defaults); err != nil {
			return nil, err
		}
	}
	p, err := t.start(spec, defaults, turn)
	if err != nil {
		turn.retract()
	}
	return p, err
}

func (t *Table) start(spec Spec, defaults Defaults, turn *turn) (*Process, error) {
	t.mu.Lock()
	if _, taken := t.byID[spec.ID]; taken {
		t.mu.Unlock()
		return nil, fault.New(fault.AlreadyExists, "process %s exists already", spec.ID)
	}
	t.byID[spec.ID] = nil
	t.mu.Unlock()

	p, err := t.launch(spec, defaults, turn)

	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		delete(t.byID, spec.ID)
		return nil, err
	}
	if spec.Transient && !p.active() { // already removed from the table
		delete(t.byID, spec.ID)
		return p, nil
	}
	t.byID[spec.ID] = p
	t.order = append(t.order, p)
	if turn != nil {
		turn.session.commands++
	}
	return p, nil
}

func (t *Table) launch(spec Spec, defaults Defaults, turn *turn) (*Process, error) {
	start, user, err := spec.plan(defaults)
	if err != nil {
		return nil, err
	}
	p := &Process{
		spec: spec, cwd: start.Dir, user: accounts.Shown(user.Name, user.UID), session: turn,
		ring: newRing(spec.ringBytes()), stdin: closedInput(), gone: make(chan struct{}), kernelKills: countKernelKills(),
	}
	p.holds = &holds{ring: p.ring}
	if turn != nil {
		if p.cwd, err = turn.prepare(p, start); err != nil {
			return nil, err
		}
	}
	stdio, err := p.openStdio(user)
	if err != nil {
		return nil, fault.New(fault.Internal, "standard input and output: %s", err)
	}
	// Events of a command wait until it is completely set up.
	ready := make(chan struct{})
	p.started = time.Now()
	p.command, err = t.pool.Run(start, stdio, supervise.Events{
		Exited: func(status unix.WaitStatus, gone bool) {
			<-ready
			p.onExited(&status, gone)
			t.noteEnded(p)
		},
		Gone: func() {
			<-ready
			if p.onGone() || p.spec.Transient {
				t.noteEnded(p)
			}
		},
	})
	if p.terminal == nil {
		p.closeChildEnds(stdio)
	}
	if err != nil {
		p.closeOwnEnds()
		if errno, ok := err.(syscall.Errno); ok {
			return nil, startError(start.Argv[0], errno)
		}
		return nil, fault.New(fault.Internal, "%s: %s", start.Argv[0], err)
	}
	if spec.Await {
		p.holds.expect(p.ring.hold(0), awaitTime)
	}
	for _, d := range p.outputs() {
		go d.run()
	}
	if len(spec.StdinData) > 0 {
		p.stdin.begin(spec.StdinData, spec.Stdin != "pipe")
	}
	if spec.TimeoutMs > 0 {
		p.timer = owntime.AfterFunc(time.Duration(spec.TimeoutMs)*time.Millisecond, p.expire)
	}
	p.spec.StdinData, p.spec.Env = nil, nil // not needed any more
	close(ready)
	return p, nil
}

// openStdio makes the process's standard descriptors: a terminal that belongs to its user, or
// pipes.
func (p *Process) openStdio(user *accounts.User) (stdio [3]int, err error) {
	if p.spec.Pty == nil {
		return p.openPipes()
	}
	return p.openTerminal(user.UID)
}

// openPipes makes pipes as the process's standard descriptors.
func (p *Process) openPipes() (stdio [3]int, err error) {
	stdio = [3]int{supervise.Null(), -1, -1}
	if p.spec.Stdin == "pipe" || len(p.spec.StdinData) > 0 {
		if p.stdin, stdio[0], err = newInput(); err != nil {
			return stdio, err
		}
	}
	if p.stdout, stdio[1], err = newDrain(p.ring, Stdout); err == nil {
		p.stderr, stdio[2], err = newDrain(p.ring, Stderr)
	}
	if err != nil {
		p.closeChildEnds(stdio)
		p.closeOwnEnds()
	}
	return stdio, err
}

func (p *Process) closeChildEnds(stdio [3]int) {
	for _, fd := range stdio {
		if fd >= 0 && fd != supervise.Null() {
			_ = unix.Close(fd) // the command has its own copies
		}
	}
}

func (p *Process) closeOwnEnds() {
	p.stdin.close()
	for _, d := range p.outputs() {
		_ = d.file.Close() // nothing was written
	}
	if p.terminal != nil {
		p.terminal.Close()
	}
}

// noteEnded remembers an ended process, and removes the oldest ones above the limits.
func (t *Table) noteEnded(p *Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.spec.Transient {
		if !p.active() { // until then it can still be killed
			t.forget(p)
		}
		return
	}
	t.ended = append(t.ended, p)
	t.held[p] = p.ring.held()
	t.endedHeld += t.held[p]
	for i := 0; t.endedHeld > maxEndedBytes && i < len(t.ended)-1; i++ {
		t.dropOutput(t.ended[i])
	}
	for i := 0; len(t.ended) > maxEnded && i < len(t.ended); {
		old := t.ended[i]
		if old.active() { // it can still be killed
			i++
			continue
		}
		t.dropOutput(old)
		delete(t.held, old)
		t.ended = slices.Delete(t.ended, i, i+1)
		t.forget(old)
	}
}

func (t *Table) forget(p *Process) {
	delete(t.byID, p.spec.ID)
	t.order = slices.DeleteFunc(t.order, func(o *Process) bool { return o == p })
}

func (t *Table) dropOutput(p *Process) {
	if t.held[p] > 0 {
		t.endedHeld -= t.held[p]
		t.held[p] = 0
		p.ring.drop()
	}
}

// Get returns a process by id.
func (t *Table) Get(id string) (*Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.byID[id]; p != nil {
		return p, nil
	}
	return nil, fault.New(fault.CommandNotFound, "there is no process %s", id)
}

// List returns all known processes, newest first.
func (t *Table) List() []Info {
	t.mu.Lock()
	list := slices.Clone(t.order)
	t.mu.Unlock()
	infos := make([]Info, 0, len(list))
	for _, p := range slices.Backward(list) {
		infos = append(infos, p.Info())
	}
	return infos
}

// Wanted selects processes. A nil field selects all.
type Wanted struct {
	Pid   *int
	Label *string
}

// Find returns the known processes that match: running ones before ended ones, and newer ones
// first.
func (t *Table) Find(wanted Wanted) []Info {
	found := slices.DeleteFunc(t.List(), func(p Info) bool {
		return wanted.Pid != nil && p.Pid != *wanted.Pid || wanted.Label != nil && (p.Label == nil || *p.Label != *wanted.Label)
	})
	slices.SortStableFunc(found, func(a, b Info) int { return cmp.Compare(ended(a), ended(b)) })
	return found
}

// ended returns 1 for a process that has ended.
func ended(p Info) int {
	if p.State == "running" {
		return 0
	}
	return 1
}

// Active counts the processes that run or have running descendants, and those of them that are not
// in the background.
func (t *Table) Active() (all, foreground int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.byID {
		if p != nil && !p.active() {
			continue
		}
		all++
		if p == nil || !p.spec.Background {
			foreground++
		}
	}
	return all, foreground
}

// LetGo removes all expected readers of all processes.
func (t *Table) LetGo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.order {
		p.holds.letGo()
	}
}
