package supervise

import (
	"bufio"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// keptIdle is how many supervisors may wait for a command for ever.
	keptIdle = 2
	// maxIdle is how many supervisors may wait. A client that runs commands side by side needs as
	// many again at once, and a start of one costs more than a small command.
	maxIdle = 16
	// surplusAfter is how long more than keptIdle may wait. It is shorter than the time after which
	// the host freezes an idle runtime, so that a frozen one does not hold their memory.
	surplusAfter = time.Second
	// spareAfter is how long a command has to run, with no supervisor idle, before another one is
	// made ready.
	spareAfter = 500 * time.Millisecond
)

// Pool starts supervisors, keeps a few idle ones, and reaps every child of this process.
type Pool struct {
	fork    sync.Mutex   // held while a child is made and noted, and while children are reaped
	stills  atomic.Int64 // how often every process was stopped, and let go on
	mu      sync.Mutex
	idle    []*Supervisor // the one that has waited longest comes first
	trims   bool          // a trim is due
	known   map[int]*Supervisor
	running map[int]*Command // by the pid of a supervisor that works for it
	leaders map[int]*leader  // by pid: what supervisors have started and not yet told the end of
	join    func(pid int) error
	binary  string
}

// NewPool starts reaping. Supervisors are re-executions of binary.
func NewPool(binary string) *Pool {
	p := &Pool{binary: binary, known: map[int]*Supervisor{}, running: map[int]*Command{}, leaders: map[int]*leader{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			p.reap()
		}
	}()
	return p
}

// OnSpawn has join called with the pid of every supervisor: those that exist at once, later ones
// before they run anything. One for which it fails runs nothing.
func (p *Pool) OnSpawn(join func(pid int) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pid := range p.known {
		if err := join(pid); err != nil {
			return err
		}
	}
	p.join = join
	return nil
}

// Prepare makes sure that one supervisor is idle. A failure shows when a command needs one.
func (p *Pool) Prepare() {
	p.mu.Lock()
	ready := len(p.idle) > 0
	p.mu.Unlock()
	if ready {
		return
	}
	if s, err := p.spawn(); err == nil {
		p.release(s)
	}
}

// take answers an idle supervisor, or a new one.
func (p *Pool) take() (*Supervisor, error) {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		s := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	return p.spawn()
}

// release puts a supervisor whose command is over among the idle ones, or lets it end.
func (p *Pool) release(s *Supervisor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= maxIdle {
		s.close()
		return
	}
	s.idleSince = time.Now()
	p.idle = append(p.idle, s)
	p.trimLater()
}

// trimLater has the surplus end when its time is over. It needs the lock.
func (p *Pool) trimLater() {
	if p.trims || len(p.idle) <= keptIdle {
		return
	}
	p.trims = true
	time.AfterFunc(time.Until(p.idle[0].idleSince.Add(surplusAfter)), p.trim)
}

func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trims = false
	n := surplus(p.idle, time.Now())
	for _, s := range p.idle[:n] {
		s.close()
	}
	p.idle = slices.Delete(p.idle, 0, n)
	p.trimLater()
}

// surplus returns how many idle supervisors, from the first one on, have waited long enough to end.
func surplus(idle []*Supervisor, now time.Time) int {
	n := 0
	for len(idle)-n > keptIdle && now.Sub(idle[n].idleSince) >= surplusAfter {
		n++
	}
	return n
}

func (p *Pool) spawn() (*Supervisor, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(pair[0]), "supervisor")
	conn, err := net.FileConn(file)
	_ = file.Close() // conn has its own copy
	if err != nil {
		_ = unix.Close(pair[1])
		return nil, err
	}
	null := Null()
	s := &Supervisor{pool: p, conn: conn.(*net.UnixConn), in: bufio.NewReaderSize(conn, 16), dead: make(chan struct{})}
	p.fork.Lock()
	defer p.fork.Unlock()
	pid, err := syscall.ForkExec(p.binary, []string{"holt-guest", "supervise"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(pair[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	_ = unix.Close(pair[1])
	if err != nil {
		s.close()
		return nil, err
	}
	s.pid = pid
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[pid] = s
	if p.join != nil {
		if err := p.join(pid); err != nil {
			s.close() // so it ends
			return nil, err
		}
	}
	return s, nil
}

// reap collects every child that has ended: supervisors, and what a killed supervisor left behind.
func (p *Pool) reap() {
	p.fork.Lock()
	defer p.fork.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			return
		}
		p.forget(pid, status)
	}
}

func (p *Pool) forget(pid int, status unix.WaitStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l, ok := p.leaders[pid]; ok {
		l.status = status
		close(l.reaped)
		delete(p.leaders, pid)
	}
	s, ok := p.known[pid]
	if !ok {
		return
	}
	delete(p.known, pid)
	for i, idle := range p.idle {
		if idle == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			s.close()
			break
		}
	}
	close(s.dead)
}

// orphans answers the children of this process that are no supervisors: what a killed supervisor
// left behind.
func (p *Pool) orphans() []int {
	p.fork.Lock()
	defer p.fork.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []int
	for _, child := range readTree().children[os.Getpid()] {
		if _, ok := p.known[child]; !ok {
			found = append(found, child)
		}
	}
	return found
}

var (
	nullOnce sync.Once
	nullFd   int
)

// Null is a descriptor of /dev/null, opened once and early, so that what is put in its place later
// cannot block the guest. Where there is no /dev/null it is a file with nothing in it that takes
// nothing.
func Null() int {
	nullOnce.Do(func() {
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != nil {
			fd, err = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			fd = -1
		}
		nullFd = fd
	})
	return nullFd
}
