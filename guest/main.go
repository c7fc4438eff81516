// Command holt-guest is the first process of a runtime; re-executed as "holt-guest supervise" it
// looks after one command, as "holt-guest limit" it limits itself and becomes one, and under the name "sudo" it asks the first process to run one as root.
// On the host, "holt-guest tun" makes a network device for a runtime that may make none, "holt-guest contain" starts a container with
// users of its own, and "holt-guest launch" starts programs for the daemon.
package main

import (
	"os"
	"runtime"

	"holt.dev/guest/internal/contain"
	"holt.dev/guest/internal/initd"
	"holt.dev/guest/internal/launch"
	"holt.dev/guest/internal/sudo"
	"holt.dev/guest/internal/supervise"
	"holt.dev/guest/internal/tun"
)

// A supervisor's commands have to be children of its first thread, and only here is that the one that runs.
func init() { runtime.LockOSThread() }

func main() {
	if sudo.IsCalled(os.Args) {
		os.Exit(sudo.Main())
	}
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		os.Exit(supervise.Main())
	}
	if supervise.IsLimit(os.Args) {
		os.Exit(supervise.LimitMain(os.Args))
	}
	if len(os.Args) > 1 && os.Args[1] == "tun" {
		os.Exit(tun.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "contain" {
		os.Exit(contain.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "launch" {
		os.Exit(launch.Main(os.Args[2:]))
	}
	os.Exit(initd.Main())
}
