package supervise

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// outputKillTimeout limits the wait for a program that is killed because its output is no longer
// needed.
const outputKillTimeout = 5 * time.Second

var (
	errTooMuch = errors.New("it wrote more than expected")
	errLost    = errors.New("its supervisor was lost")
)

// Output runs a program of the guest's choice without input, and returns its standard output and
// its status. It kills the program if the context ends, or if the output exceeds limit bytes.
func (p *Pool) Output(ctx context.Context, start *Start, limit int) (out []byte, status unix.WaitStatus, err error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	defer reader.Close()
	null := Null()
	ended := make(chan unix.WaitStatus, 1)
	gone := make(chan struct{})
	events := Events{
		Exited: func(status unix.WaitStatus, _ bool) { ended <- status },
		Gone:   func() { close(gone) },
	}
	command, err := p.Run(start, [3]int{null, int(writer.Fd()), null}, events)
	_ = writer.Close() // the program has its own copy
	if err != nil {
		return nil, 0, err
	}
	kill := func() {
		ctx, cancel := context.WithTimeout(context.Background(), outputKillTimeout)
		defer cancel()
		_ = command.Kill(ctx) // a surviving process is stuck in the kernel
	}
	stop := context.AfterFunc(ctx, kill)
	defer stop()
	out, err = io.ReadAll(io.LimitReader(reader, int64(limit)+1))
	if err == nil && len(out) > limit {
		err = errTooMuch
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		kill()
		return nil, 0, err
	}
	select {
	case status = <-ended:
		return out, status, nil
	case <-gone: // the supervisor was lost, or both events arrive together
		select {
		case status = <-ended:
			return out, status, nil
		default:
			return nil, 0, errLost
		}
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// RootsProgram returns the first of these paths that is a program which only root can have
// installed, or "".
func RootsProgram(places []string) string {
	for _, place := range places {
		var st unix.Stat_t
		if unix.Stat(place, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if st.Uid == 0 && st.Mode&0o022 == 0 && st.Mode&0o111 != 0 {
			return place
		}
	}
	return ""
}
