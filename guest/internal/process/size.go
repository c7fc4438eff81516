package process

import (
	"cmp"

	"golang.org/x/sys/unix"
)

// maxString is the kernel's limit on one argument or one `NAME=value`, without its NUL (execve(2):
// MAX_ARG_STRLEN).
const maxString = 32*4096 - 1

// The kernel's limit on all arguments and variables together, with their NULs and pointers
// (execve(2)): a quarter of the stack limit, within these bounds. gVisor applies the limit that
// Linux has with the usual 8 MiB.
const (
	minTotal     = 32 * 4096
	maxTotal     = 6 << 20
	usualStack   = 8 << 20
	pointerBytes = 8
)

const sizeRemedy = "write it to a file, or give it to the command as stdin"

// checkSize refuses arguments and variables that exceed the kernel's limits. The error names the
// limit.
func (s *Spec) checkSize(argv []string, env map[string]string) error {
	total := 0
	count := func(bytes int) { total += bytes + 1 + pointerBytes }
	for i, arg := range argv {
		if count(len(arg)); len(arg) > maxString {
			if s.Command != nil {
				return invalid("command: it has %d bytes, and %d is the most: %s", len(arg), maxString, sizeRemedy)
			}
			return invalid("argv[%d]: it has %d bytes, and %d is the most of one argument, else the list is too long: %s", i, len(arg), maxString, sizeRemedy)
		}
	}
	for name, value := range env {
		bytes := len(name) + 1 + len(value)
		if count(bytes); bytes > maxString {
			return invalid("env: %s has %d bytes with its name, and %d is the most of one variable: %s", name, bytes, maxString, sizeRemedy)
		}
	}
	if limit := s.totalLimit(); total > limit {
		return invalid("arguments and environment have %d bytes together, too long for a program, which takes %d: %s", total, limit, sizeRemedy)
	}
	return nil
}

// totalLimit returns the limit for the stack limit of the command.
func (s *Spec) totalLimit() int {
	stack := uint64(usualStack)
	var own unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_STACK, nil, &own) == nil {
		stack = own.Cur
	}
	if limit, ok := s.Rlimits["stack"]; ok {
		stack = cmp.Or(valueOf(limit.Soft), stack)
	}
	return int(min(max(stack/4, minTotal), maxTotal))
}
