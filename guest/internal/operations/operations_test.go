package operations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// counted answers how often it has run.
func counted(runs *int, body []byte) func(*Progress) (Answer, error) {
	return func(*Progress) (Answer, error) {
		*runs++
		return Answer{Status: 200 + *runs, Body: body}, nil
	}
}

func do(t *testing.T, m *Memory, name string, run func(*Progress) (Answer, error)) Answer {
	t.Helper()
	answer, err := m.Do(t.Context(), name, run)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAnAnswerIsRepeated(t *testing.T) {
	m, runs := NewMemory(), 0
	for range 3 {
		if a := do(t, m, "a", counted(&runs, []byte("x"))); a.Status != 201 || string(a.Body) != "x" {
			t.Fatalf("%+v", a)
		}
	}
	if a := do(t, m, "b", counted(&runs, nil)); a.Status != 202 {
		t.Fatalf("another operation: %+v", a)
	}
}

func TestAFailedOperationRunsAgain(t *testing.T) {
	m, fails := NewMemory(), errors.New("fails")
	for i := range int64(3) {
		_, err := m.Do(t.Context(), "a", func(p *Progress) (Answer, error) {
			if p.Bytes != 10*i {
				t.Fatalf("time %d: %d", i, p.Bytes)
			}
			p.Bytes += 10
			return Answer{}, fails
		})
		if err != fails {
			t.Fatal(err)
		}
	}
	runs := 0
	do(t, m, "a", counted(&runs, nil))
	do(t, m, "a", counted(&runs, nil))
	if runs != 1 {
		t.Fatalf("%d runs", runs)
	}
}

func TestAnOperationThatChangedNothingRunsAgainAndTakesNoRoom(t *testing.T) {
	m, runs := NewMemory(), 0
	do(t, m, "kept", counted(&runs, []byte("x")))
	for i := range maxRemembered + 1 {
		answer := do(t, m, fmt.Sprint("idle", i%2), func(p *Progress) (Answer, error) {
			p.Unchanged = true
			return Answer{Status: 200, Body: []byte("nothing")}, nil
		})
		if string(answer.Body) != "nothing" {
			t.Fatalf("time %d: %+v", i, answer)
		}
	}
	if m.order.Len() != 1 || len(m.underWay) != 0 {
		t.Fatalf("%d remembered, %d under way", m.order.Len(), len(m.underWay))
	}
	do(t, m, "idle0", counted(&runs, nil))
	do(t, m, "idle0", counted(&runs, nil))
	do(t, m, "kept", counted(&runs, nil))
	if runs != 2 {
		t.Fatalf("%d runs", runs)
	}
}

func TestAPanicReleasesWaiters(t *testing.T) {
	m, runs := NewMemory(), 0
	func() {
		defer func() { _ = recover() }()
		_, _ = m.Do(t.Context(), "a", func(*Progress) (Answer, error) { panic("a defect") })
	}()
	do(t, m, "a", counted(&runs, nil))
}

func TestARepeatWaitsForTheOperationInProgress(t *testing.T) {
	m, runs, begun, release := NewMemory(), 0, make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Add(1)
	go func() {
		defer all.Done()
		_, _ = m.Do(t.Context(), "a", func(*Progress) (Answer, error) {
			close(begun)
			<-release
			runs++
			return Answer{Status: 201}, nil
		})
	}()
	<-begun
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := m.Do(gone, "a", counted(&runs, nil)); err != context.Canceled {
		t.Fatalf("who has gone waits: %v", err)
	}
	for range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			if a, err := m.Do(t.Context(), "a", counted(&runs, nil)); err != nil || a.Status != 201 {
				t.Errorf("%+v %v", a, err)
			}
		}()
	}
	close(release)
	all.Wait()
	if runs != 1 {
		t.Fatalf("%d runs", runs)
	}
}

func TestTheNewestAnswersAreKept(t *testing.T) {
	m, runs := NewMemory(), 0
	for i := range maxRemembered + 1 {
		do(t, m, fmt.Sprint(i), counted(&runs, nil))
	}
	before := runs
	do(t, m, fmt.Sprint(maxRemembered), counted(&runs, nil))
	do(t, m, "1", counted(&runs, nil))
	if runs != before {
		t.Fatal("one of the newest was forgotten")
	}
	do(t, m, "0", counted(&runs, nil))
	if runs != before+1 || len(m.known) != maxRemembered || m.order.Len() != maxRemembered {
		t.Fatalf("%d runs, %d known, %d in order", runs-before, len(m.known), m.order.Len())
	}
}

func TestAnswersHaveATotalLimit(t *testing.T) {
	m, runs := NewMemory(), 0
	full := bytes.Repeat([]byte("x"), maxAnswerBytes)
	for i := range 200 {
		do(t, m, fmt.Sprint(i), counted(&runs, full))
		if m.bytes > maxBytes {
			t.Fatalf("%d bytes", m.bytes)
		}
	}
	if a := do(t, m, "199", counted(&runs, nil)); !bytes.Equal(a.Body, full) {
		t.Fatal("the newest is not whole")
	}
	long := append(full, 'x')
	if a := do(t, m, "long", counted(&runs, long)); len(a.Body) != len(long) {
		t.Fatal("who asks first is not told all")
	}
	if a := do(t, m, "long", counted(&runs, long)); a.Body != nil || a.Status == 0 {
		t.Fatalf("%d bytes are remembered", len(a.Body))
	}
	m.Forget()
	if m.bytes != 0 {
		t.Fatalf("%d bytes of nothing", m.bytes)
	}
}

func TestAnswersOfARuntimeAreNotUsedInAnother(t *testing.T) {
	m, runs := NewMemory(), 0
	do(t, m, "a", counted(&runs, nil))
	_, _ = m.Do(t.Context(), "b", func(*Progress) (Answer, error) {
		m.Forget() // while it is under way
		return Answer{Status: 200}, nil
	})
	do(t, m, "a", counted(&runs, nil))
	do(t, m, "b", counted(&runs, nil))
	if runs != 3 {
		t.Fatalf("%d runs", runs)
	}
}
