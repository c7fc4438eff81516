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
	// keptIdle is the number of supervisors that may be idle without a time limit.
	keptIdle = 2
	// maxIdle limits the idle supervisors. A client that runs concurrent commands soon needs as
	// many again, and the start of a supervisor costs more than a small command.
	maxIdle = 16
	// surplusAfter is the time after which surplus supervisors (more than keptIdle) end. It is
	// shorter than the time after which the host freezes an idle runtime, so that a frozen runtime
	// does not hold their memory.
	surplusAfter = time.Second
	// spareAfter is the time after which a running command causes the start of an idle supervisor,
	// if there is none.
	spareAfter = 500 * time.Millisecond
	// spareAtOnce replaces it where the kernel kills for memory. There the idle supervisor must
	// exist before a command has used up the memory, because the kernel may kill a second process.
	spareAtOnce = 0
)

// Pool starts supervisors, keeps a few idle ones, and reaps every child of this process.
type Pool struct {
	fork    sync.Mutex   // held while a child is forked and noted, and while children are reaped
	stills  atomic.Int64 // the number of times that all processes were stopped or continued
	mu      sync.Mutex
	idle    []*Supervisor // the longest idle one first
	trims   bool          // a trim is due
	known   map[int]*Supervisor
	running map[int]*Command // by the pid of the supervisor
	leaders map[int]*leader  // by pid: started processes whose end is not reported yet
	join    func(pid int) error
	binary  string
	spare   time.Duration // spareAfter or spareAtOnce
	starts  bool          // Prepare starts a supervisor
}

// NewPool returns a pool and begins to reap. Supervisors are re-executions of binary. kernelKills
// is true if the kernel kills processes when the runtime's memory is used up.
func NewPool(binary string, kernelKills bool) *Pool {
	spare := spareAfter
	if kernelKills {
		spare = spareAtOnce
	}
	p := &Pool{binary: binary, spare: spare, known: map[int]*Supervisor{}, running: map[int]*Command{}, leaders: map[int]*leader{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			p.reap()
		}
	}()
	return p
}

// OnSpawn makes the pool call join with the pid of every supervisor: of existing ones at once, and
// of later ones before they run anything. If join fails for a later one, it runs nothing.
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

// Prepare ensures that one supervisor is idle. An error is reported when a command needs one.
func (p *Pool) Prepare() {
	p.mu.Lock()
	if len(p.idle) > 0 || p.starts {
		p.mu.Unlock()
		return
	}
	p.starts = true
	p.mu.Unlock()
	s, err := p.spawn()
	p.mu.Lock()
	p.starts = false
	p.mu.Unlock()
	if err == nil {
		p.release(s)
	}
}

// take returns an idle supervisor, or a new one.
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

// release makes a supervisor idle after its command has ended, or ends it.
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

// trimLater schedules the end of surplus supervisors. It must be called with the lock held.
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

// surplus returns the number of idle supervisors, from the first one on, that have waited long
// enough to end.
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
			s.close() // ends the supervisor
			return nil, err
		}
	}
	return s, nil
}

// reap reaps all children that have ended: supervisors, and the orphans of a killed supervisor.
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

// orphans returns the children of this process that are not supervisors: descendants of a killed
// supervisor.
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

// Null returns a descriptor of /dev/null. It is opened once and early, so that a later replacement
// of the file cannot block the guest. Without /dev/null, it is a descriptor that can be neither
// read nor written.
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
