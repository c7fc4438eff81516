package owntime

import (
	"sync"
	"time"
)

// Timer is a time.Timer of the runtime's own time.
type Timer struct {
	call func()

	mu    sync.Mutex
	end   time.Duration
	turn  int // what began in an earlier one was stopped, or reset
	timer *time.Timer
}

// AfterFunc calls a function when so much of the runtime's own time has passed.
func AfterFunc(d time.Duration, call func()) *Timer {
	t := &Timer{call: call}
	t.Reset(d)
	return t
}

// Reset has the timer begin anew.
func (t *Timer) Reset(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop()
	t.end = Now() + d
	t.wait(d)
}

// Stop keeps a timer from going off, unless it has.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop()
}

func (t *Timer) stop() {
	t.turn++
	if t.timer != nil {
		t.timer.Stop()
	}
}

// wait needs the lock.
func (t *Timer) wait(d time.Duration) {
	turn := t.turn
	t.timer = time.AfterFunc(d, func() {
		if t.isOver(turn) {
			t.call()
		}
	})
}

// isOver tells whether the time is over, and waits for the rest where it is not.
func (t *Timer) isOver(turn int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != turn {
		return false
	}
	if left := t.end - Now(); left > 0 {
		t.wait(left)
		return false
	}
	return true
}
