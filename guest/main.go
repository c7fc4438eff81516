// Command holt-guest is the first process of a runtime; re-executed as "holt-guest supervise" it
// looks after one command, and under the name "sudo" it asks the first process to run one as root.
package main

import (
	"os"
	"runtime"

	"holt.dev/guest/internal/initd"
	"holt.dev/guest/internal/sudo"
	"holt.dev/guest/internal/supervise"
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
	os.Exit(initd.Main())
}
