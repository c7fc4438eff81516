// Command holt-guest is the first process of a runtime. Other names and verbs select other jobs:
//
//   - "holt-guest supervise" supervises one command.
//   - "holt-guest limit" limits itself and then becomes a command.
//   - "sudo", as the program's name, acts as the sudo of the image.
//   - "holt-guest tun" runs on the host. It makes a network device for a runtime that must not.
//   - "holt-guest contain" runs on the host. It starts a container with its own users.
//   - "holt-guest launch" runs on the host. It starts programs for the daemon.
//   - "holt-guest watch-memory" runs on the host. It reports that a runtime is out of memory.
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

// init locks the main goroutine to the first thread of the process. A supervisor's commands have to
// be children of that thread.
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
		// The program must not become an init process, because a newer service would wait for it.
		fmt.Fprintf(os.Stderr, "holt-guest: unknown verb %q: this program may be older than the service\n", verb)
		os.Exit(2)
	}
}
