package owntime

import (
	"testing"
	"time"
)

func TestTimeStopsWithTheRuntime(t *testing.T) {
	var kernel time.Duration
	c := &clock{now: func() time.Duration { return kernel }}
	wants := func(what string, want time.Duration) {
		t.Helper()
		if got := c.read(); got != want {
			t.Fatalf("%s: %s, want %s", what, got, want)
		}
	}
	kernel += time.Hour
	wants("with a host all time counts", time.Hour)
	c.aloneFor(time.Second)
	kernel += time.Second + standstill
	wants("as long as the guest is heard of", time.Hour+time.Second+standstill)
	c.aloneFor(time.Second)
	kernel += time.Hour
	wants("what goes by unheard of is none", time.Hour+2*time.Second+standstill)
	kernel += standstill
	wants("after that time goes on", time.Hour+2*time.Second+2*standstill)
	c.met()
	kernel += time.Hour
	wants("and with a host again all counts", 2*time.Hour+2*time.Second+2*standstill)
	c.aloneFor(0)
	kernel += time.Minute
	c.met()
	wants("whoever comes first finds out", 2*time.Hour+2*time.Second+2*standstill)
}

func TestATimerCountsTheTimeOfTheRuntime(t *testing.T) {
	var kernel time.Duration
	before := own
	own = &clock{now: func() time.Duration { return kernel }}
	defer func() { own = before }()
	called := make(chan struct{}, 1)
	timer := AfterFunc(time.Millisecond, func() { called <- struct{}{} })
	select {
	case <-called:
		t.Fatal("it went off while time stood still")
	case <-time.After(50 * time.Millisecond):
	}
	timer.Stop()
	own.mu.Lock()
	kernel += time.Millisecond
	own.mu.Unlock()
	select {
	case <-called:
		t.Fatal("it went off after it was stopped")
	case <-time.After(50 * time.Millisecond):
	}
	timer.Reset(0)
	<-called
}
