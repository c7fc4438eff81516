package contain

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
)

// request holds the arguments of "holt-guest contain". It runs on the host, never in a runtime.
type request struct {
	name   string // of the root, as the mount's source
	image  string // the mount point of the image
	disk   string // the mount point of the disk, with the directories upper and work
	rootfs string // the place of the root on the host
	// A directory that every user may enter. The runner's own mounts have root and users in it.
	place     string
	firstID   int      // the id of the container's user 0 on the host
	openFiles uint64   // the limit of a process
	log       string   // the runner's
	runner    []string // the program to become, and its arguments
}

func parse(args []string) (*request, error) {
	r := &request{}
	flags := flag.NewFlagSet("holt-guest contain", flag.ContinueOnError)
	flags.StringVar(&r.name, "name", "", "the root's name among mounts")
	flags.StringVar(&r.image, "image", "", "where the image is mounted")
	flags.StringVar(&r.disk, "disk", "", "where the disk is mounted")
	flags.StringVar(&r.rootfs, "rootfs", "", "where the root is to be on the host")
	flags.StringVar(&r.place, "place", "", "the directory in which the runner finds root and users")
	flags.IntVar(&r.firstID, "first-id", 0, "what user 0 is on the host")
	flags.Uint64Var(&r.openFiles, "open-files", 0, "the most files that a process may have open")
	flags.StringVar(&r.log, "log", "", "the runner's log")
	if err := flags.Parse(args); err != nil {
		return r, err
	}
	r.runner = flags.Args()
	for _, given := range []string{r.name, r.image, r.disk, r.rootfs, r.place} {
		if given == "" {
			return r, errors.New("usage: holt-guest contain --name=N --image=DIR --disk=DIR --rootfs=DIR --place=DIR --first-id=N --open-files=N [--log=FILE] -- RUNNER...")
		}
	}
	if r.firstID < Ids || r.firstID > math.MaxInt32-Ids {
		return r, fmt.Errorf("first-id %d: %d to %d", r.firstID, Ids, math.MaxInt32-Ids)
	}
	if r.openFiles == 0 {
		return r, errors.New("open-files must be at least 1")
	}
	if len(r.runner) == 0 {
		return r, errors.New("no runner is given: name one after --")
	}
	return r, nil
}

// say reports a failure on stderr and in the runner's log, which the daemon reads.
func (r *request) say(err error) {
	fmt.Fprintln(os.Stderr, err)
	if r.log == "" {
		return
	}
	file, opening := os.OpenFile(r.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if opening != nil {
		return // stderr has it
	}
	defer file.Close()
	fmt.Fprintf(file, "holt-guest contain: %v\n", err)
}
