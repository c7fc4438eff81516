// Package sudo makes `sudo` work in images whose /usr/local/bin/sudo leads to this binary, as the
// base templates of earlier versions have it.
package sudo

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const program = "/usr/bin/sudo"

// IsCalled reports whether the program was started under the name sudo.
func IsCalled(argv []string) bool { return len(argv) > 0 && filepath.Base(argv[0]) == "sudo" }

// Main becomes the image's own sudo. It returns an exit code if that fails.
func Main() int {
	err := unix.Exec(program, append([]string{"sudo"}, os.Args[1:]...), os.Environ())
	fmt.Fprintf(os.Stderr, "sudo: %s: %s\n", program, err)
	return 1
}
