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
	turn  int // identifies the current run; earlier runs were stopped or reset
	timer *time.Timer
}

// AfterFunc calls a function after d of the runtime's own time.
func AfterFunc(d time.Duration, call func()) *Timer {
	t := &Timer{call: call}
	t.Reset(d)
	return t
}

// Reset restarts the timer.
func (t *Timer) Reset(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop()
	t.end = Now() + d
	t.wait(d)
}

// Stop stops the timer, unless it has expired.
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

// wait must be called with the lock held.
func (t *Timer) wait(d time.Duration) {
	turn := t.turn
	t.timer = time.AfterFunc(d, func() {
		if t.isOver(turn) {
			t.call()
		}
	})
}

// isOver returns true if the time is over. Otherwise it waits for the rest.
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
