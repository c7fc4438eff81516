package dial

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"holt.dev/guest/internal/owntime"
)

func TestReconnectDelaysGrowWhileTheHostIsAway(t *testing.T) {
	delay, gone := firstDelay, time.Duration(0)
	attempts := 0
	for ; gone < eagerTime; attempts++ {
		gone += delay
		if later := next(delay, gone); later < delay {
			t.Fatalf("%s after %s", later, delay)
		} else {
			delay = later
		}
	}
	if attempts > 400 || next(delay, steadyTime-1) != steadyDelay || next(delay, steadyTime) != idleDelay || next(delay, idleTime) != longDelay {
		t.Fatalf("%d attempts", attempts)
	}
}

func TestReconnectsAfterEachLostConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Forever(ctx, path, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
		})
	}()
	for range 3 {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		l.Close()
	}
	cancel()
	<-done
}

func TestIsAloneFromTheMomentAtWhichTheHostMayKnow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const stood = 2 * time.Second
	ctx, cancel := context.WithCancel(context.Background())
	own := make(chan time.Duration, 1)
	go Forever(ctx, path, func(c net.Conn) {
		cancel()
		before := owntime.Now()
		_ = c.Close()
		time.Sleep(stood) // as one sees it who is written down here
		own <- owntime.Now() - before
	})
	if took := <-own; took > stood/2 {
		t.Fatalf("%s of the runtime's own passed while it stood still for %s", took, stood)
	}
}
