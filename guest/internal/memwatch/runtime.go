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
	// growth is how much more memory in use, in bytes, is told of a runtime that has been let go on above its limit.
	growth = 64 << 20
	// growthRate is how fast processes take memory at the most, in bytes per second. It was 1 GiB with two processors.
	growthRate = 2 << 30
	// minPause and maxPause bound the time between two looks at a runtime whose file cache hides growth from the thresholds.
	minPause = 20 * time.Millisecond
	maxPause = time.Second
	// retryPause is the time before a sandbox is told again to go on.
	retryPause = 100 * time.Millisecond
)

// runtime is one that is watched.
type runtime struct {
	request
	watch    watch
	reporter *reporter
	cgroup   os.FileInfo   // of Dir; nil where that is not known
	wake     chan struct{} // holds an item when the memory is to be looked at
	gone     chan struct{} // closed when the runtime is watched no more
	once     sync.Once     // closes gone
	asked    atomic.Bool   // true while somebody waits to let it go on

	mu      sync.Mutex
	stopped bool
	unsure  bool  // the sandbox may yet stop its processes: it has not answered
	over    int64 // bytes above the limit in use when it was let go on
	closed  bool
}

func newRuntime(r request, w watch, reporter *reporter) *runtime {
	cgroup, _ := os.Stat(r.Dir) // a cgroup that is gone again is forgotten
	return &runtime{
		request: r, watch: w, reporter: reporter, cgroup: cgroup, wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
}

// there tells whether the cgroup still exists, and is no later one with the same name.
func (r *runtime) there() bool {
	now, err := os.Stat(r.Dir)
	return err == nil && r.cgroup != nil && os.SameFile(now, r.cgroup)
}

// forget ends to watch the runtime.
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

// look has the processes stand still and tells the daemon where they use too much memory. File cache is not theirs: the kernel takes
// it back when it is needed. While there is so much of it that the thresholds tell nothing, the memory is read again before the processes can have
// taken what is left.
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

// pauseBefore is the time to wait where so many bytes are left.
func pauseBefore(left int64) time.Duration {
	return min(max(time.Duration(left)*time.Second/growthRate, minPause), maxPause)
}

// stopAbove has the processes stand still where they use too much memory. It answers how many bytes more they may use; none where they
// stand still.
func (r *runtime) stopAbove(now use) (left int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left = max(r.LimitBytes, r.over) - now.working()
	if r.closed {
		return max(1, left) // nothing is stopped any more
	}
	if left > 0 && !now.stuck {
		return left
	}
	r.stopped = true
	r.unsure = r.Sandbox.stop() != nil // they grow on, and the daemon has less time
	return 0
}

// askGoOn lets processes go on that were stopped, without waiting for that: a sandbox may answer late.
func (r *runtime) askGoOn() {
	if r.Sandbox == nil || r.asked.Swap(true) {
		return
	}
	go func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked.Store(false)
		r.goOn()
		r.over = 0
		if used := readUse(r.Dir).working(); used >= r.LimitBytes {
			r.over = used + growth
		}
		r.wakeUp() // what was heard meanwhile was about what stood still
	}()
}

// close lets processes go on, and never stops them again.
func (r *runtime) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.goOn()
	r.forget()
}

// goOn lets processes go on. It tries until the sandbox has done so or is gone; one that is frozen does so when it is thawed.
func (r *runtime) goOn() {
	for r.stopped {
		err := r.Sandbox.goOn()
		switch {
		case err == nil && r.unsure:
			r.unsure = false // once more, in case that it was overtaken
			time.Sleep(retryPause)
		case err == nil || isFinal(err) || !r.there():
			r.stopped = false
		default:
			time.Sleep(retryPause)
		}
	}
}

// isFinal tells whether a sandbox has ended, or has refused to do what it was told.
func isFinal(err error) bool {
	var refused refusal
	return errors.As(err, &refused) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist)
}
