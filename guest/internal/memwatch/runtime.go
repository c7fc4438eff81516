package memwatch

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// growth is the further growth, in bytes, that is reported of a runtime that was continued
	// above its limit.
	growth = 64 << 20
	// growthRate is the assumed highest rate at which processes take memory, in bytes per second. 1
	// GiB was measured with two processors.
	growthRate = 2 << 30
	// minPause and maxPause bound the time between two readings of a runtime whose page cache hides
	// its growth from the thresholds.
	minPause = 20 * time.Millisecond
	maxPause = time.Second
	// retryPause is the time before a sandbox is asked again to continue.
	retryPause = 100 * time.Millisecond
)

// runtime is a runtime that is watched.
type runtime struct {
	request
	watch    watch
	reporter *reporter
	cgroup   os.FileInfo   // of Dir; nil if that is unknown
	wake     chan struct{} // holds an item if the memory has to be read
	gone     chan struct{} // closed at the end of the watch
	once     sync.Once     // closes gone
	asked    atomic.Bool   // true while a request to continue waits

	mu      sync.Mutex
	stopped bool
	unsure  bool  // the sandbox has not answered, and may still stop its processes
	over    int64 // bytes in use above which it is stopped again, after it was continued
	closed  bool
}

func newRuntime(r request, w watch, reporter *reporter) *runtime {
	cgroup, _ := os.Stat(r.Dir) // nil if the cgroup is gone again
	return &runtime{
		request: r, watch: w, reporter: reporter, cgroup: cgroup, wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

// there returns true if the cgroup still exists, and is not a later one with the same name.
func (r *runtime) there() bool {
	now, err := os.Stat(r.Dir)
	return err == nil && r.cgroup != nil && os.SameFile(now, r.cgroup)
}

// forget ends the watch of the runtime.
func (r *runtime) forget() {
	r.once.Do(func() {
		close(r.gone)
		r.watch.end()
	})
}

// hear wakes attend at each event of the cgroup.
func (r *runtime) hear() {
	for r.watch.wait() && r.there() {
		r.wakeUp()
	}
	r.forget()
}

func (r *runtime) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *runtime) attend() {
	for {
		select {
		case <-r.gone:
			return
		case <-r.wake:
			r.look()
		}
	}
}

// look stops the processes and reports to the daemon if they use too much memory. Page cache does
// not count, because the kernel reclaims it. If page cache keeps the cgroup above the thresholds,
// these report nothing. Then look reads the memory again before the processes can have taken the
// rest.
func (r *runtime) look() {
	if r.Sandbox == nil {
		r.reporter.say(report{ID: r.ID, Full: true})
		return
	}
	for {
		now := readUse(r.Dir)
		if now.total < r.LimitBytes {
			return
		}
		left := r.stopAbove(now)
		if left <= 0 {
			r.reporter.say(report{ID: r.ID, Full: true})
			return
		}
		select {
		case <-r.gone:
			return
		case <-r.wake:
		case <-time.After(pauseBefore(left)):
		}
	}
}

// pauseBefore returns the time until the next reading if left bytes may still be used.
func pauseBefore(left int64) time.Duration {
	return min(max(time.Duration(left)*time.Second/growthRate, minPause), maxPause)
}

// stopAbove stops the processes if they use too much memory. It returns the bytes that they may
// still use, and 0 if they are stopped.
func (r *runtime) stopAbove(now use) (left int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left = max(r.LimitBytes, r.over) - now.working()
	if r.closed {
		return max(1, left) // no process is stopped any more
	}
	if left > 0 && !now.stuck {
		return left
	}
	r.stopped = true
	r.unsure = r.Sandbox.stop() != nil // if it fails, the processes grow and the daemon has less time
	return 0
}

// askContinue continues stopped processes in the background, because a sandbox can answer late.
func (r *runtime) askContinue() {
	if r.Sandbox == nil || r.asked.Swap(true) {
		return
	}
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked.Store(false)
		r.continueProcesses()
		r.over = 0
		if used := readUse(r.Dir).working(); used >= r.LimitBytes {
			r.over = used + growth
		}
		r.wakeUp() // reports that arrived meanwhile were about stopped processes
	}()
}

// close continues the processes, and never stops them again.
func (r *runtime) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.continueProcesses()
	r.forget()
}

// continueProcesses continues the processes. It retries until the sandbox has answered or is gone.
// A frozen sandbox answers after its thaw.
func (r *runtime) continueProcesses() {
	for r.stopped {
		err := r.Sandbox.continueProcesses()
		switch {
		case err == nil && r.unsure:
			r.unsure = false // again, in case the stop arrives after it
			time.Sleep(retryPause)
		case err == nil || isFinal(err) || !r.there():
			r.stopped = false
		default:
			time.Sleep(retryPause)
		}
	}
}

// isFinal returns true if a sandbox has ended or has refused the call.
func isFinal(err error) bool {
	var refused refusal
	return errors.As(err, &refused) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}
