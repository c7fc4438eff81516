// Package owntime measures time without the time during which the runtime was saved in a
// checkpoint. gVisor (release 20260701) advances the monotonic clock by that time at a restore
// (pkg/sentry/kernel/timekeeper.go, SetClocks). A deadline a minute away may then pass before any
// program has run.
package owntime

import (
	"sync"
	"time"
)

// standstill is the least delay of an announced call that counts as time in a checkpoint. Even on a
// busy machine a process waits less.
const standstill = 500 * time.Millisecond

// clock is a clock that stops with the runtime, as far as that can be detected. A checkpoint is
// only taken without a connected host, and then the guest reports regularly.
type clock struct {
	now func() time.Duration // the kernel's clock

	mu    sync.Mutex
	alone bool
	due   time.Duration // time of the next report, while alone
	stood time.Duration
}

var (
	begin = time.Now()
	own   = &clock{now: func() time.Duration { return time.Since(begin) }}
)

// Alone reports that no host is connected, so that a checkpoint may be taken. The next call of
// Alone or Met follows within silence.
func Alone(silence time.Duration) { own.aloneFor(silence) }

// Met reports that a host is connected.
func Met() { own.met() }

// Now returns the runtime's own time, since an arbitrary moment.
func Now() time.Duration { return own.read() }

func (c *clock) aloneFor(silence time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check()
	c.alone, c.due = true, c.now()+silence
}

func (c *clock) met() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check()
	c.alone = false
}

func (c *clock) read() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.check() - c.stood
}

// check detects a checkpoint, and returns the kernel's time. It must be called with the lock held.
func (c *clock) check() time.Duration {
	now := c.now()
	if c.alone && now > c.due+standstill {
		c.stood += now - c.due
		c.due = now
	}
	return now
}
