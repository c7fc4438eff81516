// Package pty makes pseudo-terminals (pty(7)) for commands.
package pty

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// MaxSide limits the columns and the rows of a terminal.
const MaxSide = 10_000

// The device numbers of the slave ends (Linux, admin-guide/devices.txt).
const slaveMajor, lastSlaveMajor = 136, 143

// Size is the size of a terminal, in characters.
type Size struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// Terminal is a pseudo-terminal. The guest keeps the slave end open until it hangs up. A program
// that closes its own descriptors can therefore still open /dev/tty.
type Terminal struct {
	master  *os.File
	slave   int
	signals bool // true if the kernel sends the signals of a terminal as Linux does
	// The bytes typed since the beginning of a line, if signals is false. Only one goroutine types
	// at a time.
	line int

	mu   sync.Mutex
	size Size
}

// Open makes a terminal that belongs to a user.
func Open(size Size, uid uint32) (*Terminal, error) {
	fd, number, err := openMaster()
	if err != nil {
		return nil, err
	}
	slave, err := openSlave(fd, number)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	t := &Terminal{master: os.NewFile(uintptr(fd), "terminal"), slave: slave, size: size}
	if err := t.setUp(fd, uid); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// openMaster opens /dev/ptmx without waiting, and verifies that it is a terminal, because root
// inside can replace it.
func openMaster() (fd, number int, err error) {
	fd, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, 0, fmt.Errorf("/dev/ptmx: %w", err)
	}
	if number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, 0, fmt.Errorf("/dev/ptmx: %w", err)
	}
	return fd, number, nil
}

// openSlave opens the other end: through the master if the kernel supports that (Linux 4.13), and
// otherwise by its name.
func openSlave(master, number int) (int, error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, flags)
	if errno == 0 {
		return int(fd), nil
	}
	name := "/dev/pts/" + strconv.Itoa(number)
	other, err := unix.Open(name, flags|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", name, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(other, &st)
	major, minor := unix.Major(st.Rdev), unix.Minor(st.Rdev)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFCHR || major < slaveMajor || major > lastSlaveMajor || int(minor) != number) {
		err = unix.ENOTTY
	}
	if err == nil {
		err = unix.SetNonblock(other, false)
	}
	if err != nil {
		_ = unix.Close(other)
		return -1, fmt.Errorf("%s: %w", name, err)
	}
	return other, nil
}

// setUp sets the terminal's owner, its size, and the settings of a login.
func (t *Terminal) setUp(master int, uid uint32) error {
	if err := unix.Fchown(t.slave, int(uid), -1); err != nil {
		return fmt.Errorf("the terminal's owner: %w", err)
	}
	if err := unix.Fchmod(t.slave, 0o620); err != nil {
		return fmt.Errorf("the terminal's mode: %w", err)
	}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, t.size.winsize()); err != nil {
		return fmt.Errorf("the terminal's size: %w", err)
	}
	settings, err := unix.IoctlGetTermios(t.slave, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("the terminal's settings: %w", err)
	}
	settings.Iflag |= unix.IUTF8
	if err := unix.IoctlSetTermios(t.slave, unix.TCSETS, settings); err != nil {
		return fmt.Errorf("the terminal's settings: %w", err)
	}
	// A kernel that does not report the foreground process group (gVisor, 2024) does not send it
	// SIGWINCH either.
	_, err = unix.IoctlGetInt(master, unix.TIOCGPGRP)
	t.signals = err != unix.ENOTTY
	return nil
}

func (s Size) winsize() *unix.Winsize { return &unix.Winsize{Col: s.Cols, Row: s.Rows} }

// Slave returns the slave end, which the terminal owns until it is closed.
func (t *Terminal) Slave() int { return t.slave }

// Master returns the guest's end, which the terminal owns until it is closed.
func (t *Terminal) Master() *os.File { return t.master }

// Dup returns another descriptor of the guest's end, which the caller closes.
func (t *Terminal) Dup() (file *os.File, err error) {
	err = t.control(func(master int) error {
		fd, err := unix.FcntlInt(uintptr(master), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			file = os.NewFile(uintptr(fd), "terminal")
		}
		return err
	})
	return file, err
}

// Size returns the size of the terminal.
func (t *Terminal) Size() Size {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

// Resize sets the size of the terminal, and notifies the session's foreground processes.
func (t *Terminal) Resize(size Size, session int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.control(func(master int) error { return unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, size.winsize()) })
	if err == nil && size != t.size && !t.signals {
		signalSession(session, unix.SIGWINCH)
	}
	if err == nil {
		t.size = size
	}
	return err
}

// EndOfFile returns the byte that signals the end of input.
func (t *Terminal) EndOfFile() byte {
	end := byte(4)
	_ = t.control(func(master int) error { // a closed terminal accepts no input
		settings, err := unix.IoctlGetTermios(master, unix.TCGETS)
		if err == nil {
			end = settings.Cc[unix.VEOF]
		}
		return err
	})
	return end
}

// HangUp hangs up the terminal after its session has ended: remaining processes get errors. On
// gVisor, where they would wait for ever, the master stays open and is still read.
func (t *Terminal) HangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeSlave()
	if t.signals {
		_ = t.master.Close()
	}
}

// Close closes both ends.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeSlave()
	_ = t.master.Close()
}

func (t *Terminal) closeSlave() {
	if t.slave >= 0 {
		_ = unix.Close(t.slave) // the written bytes are in the master
		t.slave = -1
	}
}

func (t *Terminal) control(do func(master int) error) error {
	raw, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	failure := error(nil)
	if err := raw.Control(func(fd uintptr) { failure = do(int(fd)) }); err != nil {
		return err
	}
	return failure
}
