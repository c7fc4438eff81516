package process

import (
	"slices"
	"sync"
	"time"

	"holt.dev/guest/internal/owntime"
)

const (
	// awaitTime bounds how long output waits for a first reader. That comes at once, or has been
	// kept from coming.
	awaitTime = 10 * time.Second
	// returnTime bounds how long output waits for a reader that a checkpoint has cut off. Readers
	// are let in after what a template has run at a resume, which may take a minute.
	returnTime = 2 * time.Minute
)

// holds are the readers for which a process's output waits although they are not there: its first
// one, and those that a checkpoint has cut off.
type holds struct {
	ring *ring

	mu     sync.Mutex
	absent []*absence
}

// absence is a reader that is expected.
type absence struct {
	hold  *hold
	timer *owntime.Timer
}

// expect makes output wait for a reader, which will go on where the hold is, for so long at the
// most.
func (h *holds) expect(held *hold, within time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &absence{hold: held}
	a.timer = owntime.AfterFunc(within, func() { h.giveUp(a) })
	h.absent = append(h.absent, a)
}

// enter makes output wait for a reader that is there. It takes the place of the one that is
// expected nearest to its cursor.
func (h *holds) enter(cursor int64) *hold {
	held := h.ring.hold(cursor)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.absent) > 0 {
		far := func(a *absence) int64 { return max(a.hold.at-cursor, cursor-a.hold.at) }
		nearest := slices.MinFunc(h.absent, func(a, b *absence) int { return int(min(1, max(-1, far(a)-far(b)))) })
		h.remove(nearest)
	}
	return held
}

// letGo has output wait for nobody who is not there.
func (h *holds) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range slices.Clone(h.absent) {
		h.remove(a)
	}
}

func (h *holds) giveUp(a *absence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(a)
}

// remove needs the lock. Twice is harmless.
func (h *holds) remove(a *absence) {
	a.timer.Stop()
	h.ring.release(a.hold)
	h.absent = slices.DeleteFunc(h.absent, func(other *absence) bool { return other == a })
}
