package process

import (
	"slices"
	"sync"
	"time"

	"holt.dev/guest/internal/owntime"
)

const (
	// awaitTime limits the wait for a first reader, which connects at once or never.
	awaitTime = 10 * time.Second
	// returnTime limits the wait for a reader that a checkpoint has cut off. After a resume,
	// readers connect only after the template's commands have run, which may take a minute.
	returnTime = 2 * time.Minute
)

// holds are the absent readers for which a process's output waits: the first one, and those that a
// checkpoint has cut off.
type holds struct {
	ring *ring

	mu     sync.Mutex
	absent []*absence
}

// absence is an expected reader.
type absence struct {
	hold  *hold
	timer *owntime.Timer
}

// expect makes output wait for a reader that will continue at the hold, for a limited time.
func (h *holds) expect(held *hold, within time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &absence{hold: held}
	a.timer = owntime.AfterFunc(within, func() { h.giveUp(a) })
	h.absent = append(h.absent, a)
}

// enter makes output wait for a connected reader. The reader replaces the expected one that is
// nearest to its cursor.
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

// letGo removes all expected readers.
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

// remove must be called with the lock held. A repeated call has no effect.
func (h *holds) remove(a *absence) {
	a.timer.Stop()
	h.ring.release(a.hold)
	h.absent = slices.DeleteFunc(h.absent, func(other *absence) bool { return other == a })
}
