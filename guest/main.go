// Command holt-guest is the first process of a runtime; re-executed as "holt-guest supervise" it
// looks after one command, as "holt-guest limit" it limits itself and becomes one, and under the
// name "sudo" it becomes the image's sudo. On the host, "holt-guest tun" makes a network device for
// a runtime that may make none, "holt-guest contain" starts a container with users of its own,
// "holt-guest launch" starts programs for the daemon, and "holt-guest watch-memory" reports that a
// runtime is out of memory.
package main

import (
	"fmt"
	"os"
	"runtime"

	"holt.dev/guest/internal/contain"
	"holt.dev/guest/internal/initd"
	"holt.dev/guest/internal/launch"
	"holt.dev/guest/internal/memwatch"
	"holt.dev/guest/internal/sudo"
	"holt.dev/guest/internal/supervise"
	"holt.dev/guest/internal/tun"
)

// A supervisor's commands have to be children of its first thread, and only here is that the one
// that runs.
func init() { runtime.LockOSThread() }

func main() {
	if sudo.IsCalled(os.Args) {
		os.Exit(sudo.Main())
	}
	if supervise.IsLimit(os.Args) {
		os.Exit(supervise.LimitMain(os.Args))
	}
	if len(os.Args) == 1 {
		os.Exit(initd.Main())
	}
	switch verb, args := os.Args[1], os.Args[2:]; verb {
	case "supervise":
		os.Exit(supervise.Main())
	case "tun":
		os.Exit(tun.Main(args))
	case "contain":
		os.Exit(contain.Main(args))
	case "launch":
		os.Exit(launch.Main(args))
	case "watch-memory":
		os.Exit(memwatch.Main())
	default:
		// It must not become an init process: a service that is newer than this program would wait
		// for it.
		fmt.Fprintf(os.Stderr, "holt-guest: unknown verb %q: this program may be older than the service\n", verb)
		os.Exit(2)
	}
}
