package fault

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

func TestEveryCodeOfAnErrnoHasAStatus(t *testing.T) {
	for errno, code := range errnoCodes {
		if _, ok := statuses[code]; !ok {
			t.Errorf("%v: %s", errno, code)
		}
	}
}

func TestAFaultKeepsItsCodeWhenItIsWrapped(t *testing.T) {
	first := New(NotAFile, "x")
	if got := AtPath("/y", fmt.Errorf("wrapped: %w", first)); As(got) != first {
		t.Fatal(got)
	}
	if got := As(AtPath("/y", syscall.ENOSPC)); got.Code != DiskFull || got.Code.Status() != 507 {
		t.Fatal(got)
	}
	if got := As(AtPath("/y", errors.New("?"))); got.Code != Internal {
		t.Fatal(got)
	}
	if AtPath("/y", nil) != nil {
		t.Fatal("an error of nothing")
	}
}
