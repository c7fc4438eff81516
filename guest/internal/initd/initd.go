// Package initd implements the first process of a runtime: it sets itself up and then serves the
// host.
package initd

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/api"
	"holt.dev/guest/internal/dial"
	"holt.dev/guest/internal/files"
	"holt.dev/guest/internal/find"
	"holt.dev/guest/internal/identity"
	"holt.dev/guest/internal/listing"
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/operations"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/serve"
	"holt.dev/guest/internal/supervise"
)

const (
	defaultSocket = "/run/holt/control.sock"
	// The network's sockets are in the same directory.
	egressSocket, tunSocket = "egress.sock", "tun.sock"
)

// Main returns only if the set-up is wrong.
func Main() int {
	settle()
	uncoverTmp()
	if err := files.EmptyStage(); err != nil {
		fmt.Fprintln(os.Stderr, "staging:", err) // leftover files only take space
	}
	supervise.Null()
	pool := supervise.NewPool("/proc/self/exe", process.KernelKills())
	go pool.Prepare()
	processes := process.NewTable(pool)
	done := operations.NewMemory()
	baselines := &listing.Baselines{}
	state := &identity.State{
		HasPrograms: func() bool {
			all, _ := processes.Active()
			return all > 0
		},
		LetGo: func() {
			processes.LetGo()
			done.Forget()
			baselines.Adopt()
		},
		LimitPids: func(max int64) error {
			join, err := identity.LimitPids(max)
			if err != nil {
				return err
			}
			return pool.OnSpawn(join)
		},
	}
	socket := os.Getenv("HOLT_GUEST_SOCKET")
	if socket == "" {
		socket = defaultSocket
	}
	state.Network = network.New(filepath.Join(filepath.Dir(socket), egressSocket), filepath.Join(filepath.Dir(socket), tunSocket))
	handler := api.New(state, processes, find.NewRipgrep(pool), done, baselines)
	dial.Forever(context.Background(), socket, func(conn net.Conn) { serve.Conn(conn, resuming(handler, state.Network)) })
	return 0
}

// resuming sets the network up again at the first request of a connection. A host that sends a
// request has taken the checkpoint for which the network was closed. A host that only listens may
// still take it.
func resuming(handler http.Handler, net *network.Network) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !givesNetwork[r.URL.Path] {
			once.Do(func() {
				if err := net.Resume(); err != nil {
					// This is the runtime's own log. The host configures the network again when it
					// needs one.
					fmt.Fprintln(os.Stderr, "network:", err)
				}
			})
		}
		handler.ServeHTTP(w, r)
	})
}

// givesNetwork are the requests that configure the network, so that it need not be set up before
// them.
var givesNetwork = map[string]bool{"/v1/bind": true, "/v1/network": true}

// limitOpenFiles sets the soft limit of open files for programs, which may raise it to the hard
// limit. Some runners, such as programs in Go, raise the soft limit before they start this process.
func limitOpenFiles(wanted string) {
	var limit syscall.Rlimit
	soft, err := strconv.ParseUint(wanted, 10, 64)
	if err != nil || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return // not configured
	}
	limit.Cur = min(soft, limit.Max)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // lowering is always allowed
}

// settle sets up the process attributes on which the other packages rely.
func settle() {
	runtime.UnlockOSThread() // only supervisors have to stay on their first thread
	// Commands must not inherit descriptors that the starter of the runtime left open.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	limitOpenFiles(os.Getenv("HOLT_OPEN_FILES"))
	runtime.GOMAXPROCS(min(runtime.NumCPU(), 2))
	debug.SetGCPercent(50)
	// Modes are set exactly. Supervisors set the usual umask for commands.
	unix.Umask(0)
	_ = os.Chdir("/") // cannot fail
	// This needs a privilege. Without it the guest can be killed like other processes.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
	if os.Getpid() != 1 {
		// Orphans become children of this process, as with a real first process.
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	// The kernel protects a first process from signals without a handler, but Go's runtime has
	// handlers that end the process. The signals are caught instead of ignored, because children
	// inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGPIPE)
}
