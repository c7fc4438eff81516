package process

import (
	"cmp"
	"context"
	"slices"
	"time"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/fault"
)

const (
	// maxSessions limits the sessions. The state of each has at most maxStateBytes.
	maxSessions = 64
	// maxTurnWait limits the wait of a command for its turn. A client can retry after it.
	maxTurnWait = 20 * time.Second
)

// session is the state that its commands share: the shell's directory, variables, functions and
// umask. Each command runs in its own shell, which begins with the state of the previous one. A
// killed command therefore leaves the state unchanged.
type session struct {
	name    string
	shell   shell
	user    string // the requested name, or ""
	shown   string // the name for the host
	started time.Time
	busy    chan struct{} // holds a token during the turn of a command

	// Guarded by the table's lock:
	state    []byte // a script that restores the state; nil before the first command
	cwd      string
	commands int
	used     time.Time
	current  string // the id of the command that has its turn
	ended    bool
}

// SessionInfo describes a session for the host.
type SessionInfo struct {
	Name        string  `json:"name"`
	Shell       string  `json:"shell"`
	User        string  `json:"user"`
	Cwd         string  `json:"cwd"`
	Commands    int     `json:"commands"`
	Current     *string `json:"current"`
	StartedAtMs int64   `json:"started_at_ms"`
	UsedAtMs    int64   `json:"used_at_ms"`
}

// checkSession refuses invalid settings of a session.
func (s *Spec) checkSession() error {
	if s.Session == nil {
		return nil
	}
	if name := *s.Session; !charset.Begins(name, charset.Alphanumeric) || !charset.Only(name, 1, 64, charset.Alphanumeric+"_.-") {
		return invalid("session: 1 to 64 letters, digits, _, . or -, the first a letter or digit")
	}
	for name := range s.Env {
		if charset.Begins(name, charset.Digits) || !charset.Only(name, 1, len(name), charset.Alphanumeric+"_") {
			return invalid("env: %q cannot be a variable of a shell", name)
		}
	}
	return nil
}

// turn is one command's exclusive use of a session.
type turn struct {
	table   *Table
	session *session
	files   *stateFiles // nil until the command is prepared
}

// enterSession finds or makes the session of a command, and waits for its turn.
func (t *Table) enterSession(ctx context.Context, spec *Spec, defaults Defaults) (*turn, error) {
	user, err := spec.account(defaults)
	if err != nil {
		return nil, err
	}
	dir, err := spec.workdir(defaults)
	if err != nil {
		return nil, err
	}
	s, err := t.session(*spec.Session, user, dir)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(maxTurnWait)
	defer timer.Stop()
	select {
	case s.busy <- struct{}{}:
	case <-timer.C:
		return nil, fault.New(fault.Conflict, "session %s is busy: another of its commands runs", s.name).With("reason", "session_busy")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	turn := &turn{table: t, session: s}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.ended {
		<-s.busy
		return nil, fault.New(fault.Conflict, "session %s was ended while the command waited for its turn", s.name).With("reason", "session_ended")
	}
	s.current, s.used = spec.ID, time.Now()
	return turn, nil
}

func (t *Table) session(name string, user *accounts.User, workdir string) (*session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sessions[name]; s != nil {
		if s.user != user.Name {
			return nil, fault.New(fault.Conflict, "session %s belongs to the user %s", name, s.user).With("reason", "session_user")
		}
		return s, nil
	}
	if len(t.sessions) >= maxSessions {
		return nil, fault.New(fault.Conflict, "there are %d sessions: end one first", maxSessions).With("reason", "session_limit")
	}
	now := time.Now()
	s := &session{name: name, shell: findShell(), user: user.Name, shown: accounts.Shown(user.Name, user.UID), cwd: workdir, started: now, used: now, busy: make(chan struct{}, 1)}
	t.sessions[name] = s
	return s, nil
}

// retract ends the turn of a command that did not start. It removes a session without any started
// command.
func (u *turn) retract() {
	if u == nil {
		return
	}
	u.table.mu.Lock()
	if u.session.commands == 0 && u.table.sessions[u.session.name] == u.session {
		delete(u.table.sessions, u.session.name)
		u.session.ended = true
	}
	u.session.current = ""
	u.table.mu.Unlock()
	u.files.close()
	<-u.session.busy
}

// finish stores the state that a command left, and returns true if there was one. A command whose
// shell did not reach its end leaves none.
func (u *turn) finish() *bool {
	if u == nil {
		return nil
	}
	state, cwd, kept := u.files.read()
	u.files.close()
	u.table.mu.Lock()
	defer u.table.mu.Unlock()
	if kept {
		u.session.state, u.session.cwd = state, cwd
	}
	return &kept
}

// leave ends the turn.
func (u *turn) leave() {
	if u == nil {
		return
	}
	u.table.mu.Lock()
	u.session.current, u.session.used = "", time.Now()
	u.table.mu.Unlock()
	<-u.session.busy
}

// Sessions returns all sessions, the newest first.
func (t *Table) Sessions() []SessionInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]SessionInfo, 0, len(t.sessions))
	for _, s := range t.sessions {
		info := SessionInfo{
			Name: s.name, Shell: s.shell.path, User: s.shown, Cwd: s.cwd, Commands: s.commands,
			StartedAtMs: s.started.UnixMilli(), UsedAtMs: s.used.UnixMilli(),
		}
		if s.current != "" {
			current := s.current
			info.Current = &current
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b SessionInfo) int {
		return cmp.Or(cmp.Compare(b.StartedAtMs, a.StartedAtMs), cmp.Compare(b.Name, a.Name))
	})
	return list
}

// EndSession removes a session and kills its remaining processes.
func (t *Table) EndSession(ctx context.Context, name string) error {
	t.mu.Lock()
	s := t.sessions[name]
	if s == nil {
		t.mu.Unlock()
		return fault.New(fault.SessionNotFound, "there is no session %s", name)
	}
	s.ended = true
	delete(t.sessions, name)
	var left []*Process
	for _, p := range t.order {
		if p.session != nil && p.session.session == s && p.active() {
			left = append(left, p)
		}
	}
	t.mu.Unlock()
	for _, p := range left {
		if err := p.Kill(ctx); err != nil {
			return err
		}
	}
	return nil
}
