// Package sudo supports images whose /usr/local/bin/sudo is a symlink to this binary, as in the
// base templates of earlier versions.
package sudo

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const program = "/usr/bin/sudo"

// IsCalled returns true if the program was started under the name sudo.
func IsCalled(argv []string) bool { return len(argv) > 0 && filepath.Base(argv[0]) == "sudo" }

// Main executes the image's own sudo. It returns an exit code if that fails.
func Main() int {
	err := unix.Exec(program, append([]string{"sudo"}, os.Args[1:]...), os.Environ())
	fmt.Fprintf(os.Stderr, "sudo: %s: %s\n", program, err)
	return 1
}
