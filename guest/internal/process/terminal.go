package process

import (
	"errors"
	"os"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/pty"
)

// openTerminal makes a terminal as all three standard descriptors. Its output is one stream.
func (p *Process) openTerminal(uid uint32) (stdio [3]int, err error) {
	if p.terminal, err = pty.Open(*p.spec.Pty, uid); err != nil {
		return stdio, err
	}
	p.stdin = closedInput()
	p.stdin.terminal = p.terminal
	master := p.terminal.Master()
	raw, err := master.SyscallConn()
	if err == nil {
		p.stdin.file, err = p.terminal.Dup()
	}
	if err != nil {
		p.closeOwnEnds()
		return stdio, err
	}
	p.stdout = &drain{file: master, raw: raw, ring: p.ring, stream: Stdout}
	slave := p.terminal.Slave()
	return [3]int{slave, slave, slave}, nil
}

// outputs returns the process's output streams.
func (p *Process) outputs() []*drain {
	var all []*drain
	for _, d := range []*drain{p.stdout, p.stderr} {
		if d != nil {
			all = append(all, d)
		}
	}
	return all
}

// Resize changes the size of the process's terminal.
func (p *Process) Resize(size pty.Size) error {
	if err := checkSize(size); err != nil {
		return err
	}
	if p.terminal == nil {
		return fault.New(fault.Conflict, "process %s has no terminal", p.spec.ID)
	}
	if exited, _ := p.exit(); exited {
		return fault.New(fault.Conflict, "process %s has ended", p.spec.ID)
	}
	err := p.terminal.Resize(size, p.command.Pid)
	if errors.Is(err, os.ErrClosed) {
		return fault.New(fault.Conflict, "process %s has ended", p.spec.ID)
	}
	if err != nil {
		return fault.New(fault.Internal, "process %s: %s", p.spec.ID, os.NewSyscallError("ioctl", err))
	}
	return nil
}
