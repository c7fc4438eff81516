// Package initd is the life of a runtime's first process: it sets itself up, then serves its host
// for ever.
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
	"holt.dev/guest/internal/network"
	"holt.dev/guest/internal/operations"
	"holt.dev/guest/internal/process"
	"holt.dev/guest/internal/serve"
	"holt.dev/guest/internal/supervise"
)

const (
	defaultSocket = "/run/holt/control.sock"
	// Those of the network lie beside it.
	egressSocket, tunSocket = "egress.sock", "tun.sock"
)

// Main never returns, unless the process is set up wrongly.
func Main() int {
	settle()
	uncoverTmp()
	if err := files.EmptyStage(); err != nil {
		fmt.Fprintln(os.Stderr, "staging:", err) // what is left harms nothing but the space that it takes
	}
	supervise.Null()
	pool := supervise.NewPool("/proc/self/exe")
	go pool.Prepare()
	processes := process.NewTable(pool)
	done := operations.NewMemory()
	state := &identity.State{
		LetGo: func() {
			processes.LetGo()
			done.Forget()
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
	handler := api.New(state, processes, find.NewRipgrep(pool), done)
	dial.Forever(context.Background(), socket, func(conn net.Conn) { serve.Conn(conn, resuming(handler, state.Network)) })
	return 0
}

// resuming sets the network up again at the first request of a connection: a host that asks for
// something is past the checkpoint for which the network was closed. One that only listens may be
// about to take it.
func resuming(handler http.Handler, net *network.Network) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !givesNetwork[r.URL.Path] {
			once.Do(func() {
				if err := net.Resume(); err != nil {
					fmt.Fprintln(os.Stderr, "network:", err) // the runtime's own log; the host gives the network anew when it wants one
				}
			})
		}
		handler.ServeHTTP(w, r)
	})
}

// givesNetwork are the requests that say which network there is to be: one that was set up before
// them would be for nothing.
var givesNetwork = map[string]bool{"/v1/bind": true, "/v1/network": true}

// limitOpenFiles sets the soft limit of open files for programs, which may raise it to the hard
// one. Some runners, as programs in Go, raise it themselves before they start this one.
func limitOpenFiles(wanted string) {
	var limit syscall.Rlimit
	soft, err := strconv.ParseUint(wanted, 10, 64)
	if err != nil || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return // not asked for
	}
	limit.Cur = min(soft, limit.Max)
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // to lower it is always allowed
}

// settle makes the process what the rest relies on.
func settle() {
	runtime.UnlockOSThread() // only supervisors have to stay on their first thread
	// Commands do not get descriptors that the runtime's starter forgot to close.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // a kernel without it is older than what Holt runs on
	limitOpenFiles(os.Getenv("HOLT_OPEN_FILES"))
	runtime.GOMAXPROCS(min(runtime.NumCPU(), 2))
	debug.SetGCPercent(50)
	unix.Umask(0)                                                    // modes are given exactly; supervisors set the customary one for commands
	_ = os.Chdir("/")                                                // fails nowhere
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) // without the privilege the guest is as mortal as the rest
	if os.Getpid() != 1 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // orphans come here as they do to a first process
	}
	// The kernel protects a first process from signals it has no handler for; Go's runtime has
	// handlers that end it. They are caught here, and not ignored, because what is ignored stays so
	// in every child.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGPIPE)
}
