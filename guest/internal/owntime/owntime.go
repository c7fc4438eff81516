// Package owntime measures time without that for which the runtime was written down. gVisor
// (release 20260701) moves the monotonic clock on by that time at a restore
// (pkg/sentry/kernel/timekeeper.go, SetClocks). A deadline a minute away may then be over before
// anything has run.
package owntime

import (
	"sync"
	"time"
)

// standstill is by how much later than announced the guest has to be heard of for the time between
// to be none of its own. A machine that is busy keeps a process waiting for less.
const standstill = 500 * time.Millisecond

// clock is a clock that stands still with the runtime, where it can be told: a checkpoint is only
// taken while there is no host, and then the guest is heard of all the time.
type clock struct {
	now func() time.Duration // of the kernel's

	mu    sync.Mutex
	alone bool
	due   time.Duration // when the guest is heard of next, while it is alone
	stood time.Duration
}

var (
	begin = time.Now()
	own   = &clock{now: func() time.Duration { return time.Since(begin) }}
)

// Alone says that there is no host, so that a checkpoint may be taken, and that the guest is heard
// of again after so long at the latest: by another Alone, or by Met.
func Alone(silence time.Duration) { own.aloneFor(silence) }

// Met says that there is a host.
func Met() { own.met() }

// Now is the time of the runtime's own, since some moment.
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

// check finds out whether everything stood still, and answers the kernel's time. It needs the lock.
func (c *clock) check() time.Duration {
	now := c.now()
	if c.alone && now > c.due+standstill {
		c.stood += now - c.due
		c.due = now
	}
	return now
}
